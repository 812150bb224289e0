import ArgumentParser
import GRDB
import LFS

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
    }

    func run() throws {
        try reportingErrors {
            let (status, failures) = try DocumentDatabase.openForReading(database.database).database.read { db in
                (try LFSStatus(db), try UploadFailure.fetchAll(db))
            }
            if json {
                let figures = Figures(
                    files: status.files, local: status.local, remote: status.remote, failed: status.failed,
                    pendingBytes: status.pendingBytes)
                return Console.result(try figures.jsonLine())
            }
            Console.result(
                "\(Format.count(status.files, "file")): \(Format.count(status.remote)) remote, "
                    + "\(Format.count(status.local)) local (\(Format.count(status.failed)) failed), "
                    + "\(Format.bytes(status.pendingBytes)) to upload")
            for failure in failures { Console.result("failed \(failure.fileID): \(failure.reason)") }
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
