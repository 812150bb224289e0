import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSStorage

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show how many files are offloaded, and why others are not.")

    @OptionGroup var database: DatabaseOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    /// The figures of `--json`.
    private struct Figures: Encodable {
        var files: Int
        var local: Int
        var remote: Int
        var failed: Int
        var pendingBytes: Int64
        /// Where the files are; nil as long as none is anywhere.
        var storage: String?
        var outage: Outage?

        /// Why all uploads wait, and since when (ISO 8601).
        struct Outage: Encodable {
            var code: String
            var reason: String
            var since: String

            init(_ outage: StorageOutage) {
                (code, reason) = (outage.code.rawValue, outage.reason)
                since = outage.since.formatted(.iso8601)
            }
        }
    }

    func run() throws {
        try reportingErrors {
            let (status, storage, failures) = try DocumentDatabase.openForReading(database.database).database.read {
                db in
                (
                    try LFSStatus(db), try StorageMemory.bindingLocation(db),
                    try Upload.all().failed().order(Upload.Columns.fileID).fetchAll(db)
                )
            }
            if json {
                let figures = Figures(
                    files: status.files, local: status.local, remote: status.remote, failed: status.failed,
                    pendingBytes: status.pendingBytes, storage: storage, outage: status.outage.map(Figures.Outage.init))
                return Console.result(try figures.jsonLine())
            }
            Console.result(
                "\(Format.count(status.files, "file")): \(Format.count(status.remote)) remote, "
                    + "\(Format.count(status.local)) local (\(Format.count(status.failed)) failed), "
                    + "\(Format.bytes(status.pendingBytes)) to upload")
            if let storage { Console.result("on \(storage)") }
            if let outage = status.outage {
                let seconds = max(0, Date().timeIntervalSince(outage.since))
                Console.result("the storage is away or refuses, for \(Format.time(seconds)): \(outage.reason)")
            }
            for failure in failures {
                Console.result("failed \(failure.fileID): \(failure.reason ?? "for an unknown reason")")
            }
        }
    }
}

/// Runs a command's body; an error becomes a line on the standard error and exit status 1.
func reportingErrors(_ body: () throws -> Void) throws {
    do {
        try body()
    } catch let status as ExitCode {
        throw status
    } catch {
        Console.message("uploader: \(Words.of(error))")
        throw ExitCode(1)
    }
}
