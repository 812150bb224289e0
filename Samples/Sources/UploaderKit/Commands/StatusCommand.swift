import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSync

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
        /// Since when that is another storage that was not verified (ISO 8601).
        var changedAt: String?
        var outage: Outage?
        /// Since when uploads fail (ISO 8601); nil when the last one succeeded.
        var failingSince: String?
        /// What uploads wait for on purpose.
        var hold: Hold?
        /// nil where no other device shares the files.
        var sync: Sync?
        /// When a copy of the database was stored there last (ISO 8601).
        var savedAt: String?
        /// nil as long as nobody has chosen to keep any.
        var versions: Versions?
        /// Files that were removed, and still have bytes on the storage.
        var waitingDeletions: Int
        /// Why uploads wait that were tried, most files first.
        var retrying: [UploadReason]
        /// Uploads that were given up, the first thousand.
        var failures: [Failure]

        /// Old versions, and what they take.
        struct Versions: Encodable {
            var count: Int
            var bytes: Int64
            /// As `--keep-versions` takes it.
            var keep: String

            init?(_ totals: VersionTable.Removed, _ memory: VersionMemory) {
                guard memory.choice != nil || totals.versions > 0 else { return nil }
                (count, bytes, keep) = (totals.versions, totals.bytes, memory.holding.text)
            }
        }

        struct Failure: Encodable {
            var id: FileID
            var path: String?
            var code: String?
            var reason: String?
        }

        /// Changes that wait for the server, rows of other devices that wait for what they need, and changes that the
        /// server has refused.
        struct Sync: Encodable {
            var pending: Int
            var parked: Int
            var rejected: Int

            init(_ report: SyncReport) {
                (pending, parked, rejected) = (report.pending, report.parked, report.rejected)
            }
        }

        /// The condition that is not met, and since when (ISO 8601).
        struct Hold: Encodable {
            var reason: String
            var since: String

            init(_ hold: UploadHold) { (reason, since) = (hold.reason, hold.since.formatted(.iso8601)) }
        }

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
        try reportingErrors(json: json) {
            let (connection, table) = try DocumentDatabase.openForReading(database.database)
            let (status, storage, changedAt, failures, retrying, sync, saved, old, deletions) = try connection.read {
                db in
                let failed = try Upload.all().failed().order(Upload.Columns.fileID).fetchAll(db)
                let failures = try failed.prefix(1_000).map { upload in
                    Figures.Failure(
                        id: upload.fileID, path: try table.path(of: upload.fileID, db)?.exact,
                        code: upload.code?.rawValue, reason: upload.reason)
                }
                return (
                    try LFSStatus(db), try StorageMemory.shown(db),
                    table.isOurs ? try StorageMemory.changedAt(db) : nil, failures,
                    try UploadReason.ofWaiting(db), try SyncReport.fetch(db),
                    table.isOurs ? try DatabaseSaver.Memory.fetch(db) : .init(),
                    table.isOurs ? try Self.versions(db) : nil, try WaitingDeletions.count(db)
                )
            }
            if json {
                let figures = Figures(
                    files: status.files, local: status.local, remote: status.remote, failed: status.failed,
                    pendingBytes: status.pendingBytes, storage: storage, changedAt: changedAt?.formatted(.iso8601),
                    outage: status.outage.map(Figures.Outage.init),
                    failingSince: status.failingSince?.formatted(.iso8601), hold: status.hold.map(Figures.Hold.init),
                    sync: sync.map(Figures.Sync.init), savedAt: saved.savedAt?.formatted(.iso8601),
                    versions: old.flatMap { Figures.Versions($0.totals, $0.memory) }, waitingDeletions: deletions,
                    retrying: retrying,
                    failures: failures)
                return Console.result(try figures.jsonLine())
            }
            Console.result(
                "\(Format.count(status.files, "file")): \(Format.count(status.remote)) remote, "
                    + "\(Format.count(status.local)) local (\(Format.count(status.failed)) failed), "
                    + "\(Format.bytes(status.pendingBytes)) to upload")
            if let storage { Console.result("on \(storage)") }
            if let changedAt {
                Console.result(
                    "which is another storage since \(Format.time(since: changedAt)): 'verify' says what is there")
            }
            if let time = saved.savedAt {
                Console.result("the database was saved there \(Format.time(since: time)) ago")
            }
            if let old, let versions = Figures.Versions(old.totals, old.memory) {
                Console.result(
                    "\(Format.count(versions.count, "old version")), \(Format.bytes(versions.bytes)), "
                        + old.memory.holding.words)
            }
            if deletions > 0 {
                Console.result(
                    "\(Format.count(deletions, "removed file")) with bytes on the storage: 'resume' deletes them")
            }
            if let outage = status.outage {
                let time = Format.time(since: outage.since)
                Console.result("the storage is away or refuses, for \(time): \(outage.reason)")
            }
            if let since = status.failingSince {
                Console.result("uploads fail, for \(Format.time(since: since))")
            }
            if let hold = status.hold {
                Console.result("no upload begins, for \(Format.time(since: hold.since)): \(hold.reason)")
            }
            if let sync {
                let (pending, parked) = (Format.count(sync.pending, "change"), Format.count(sync.parked, "row"))
                Console.result(
                    "shared: \(pending) to send, \(parked) of others waiting, \(Format.count(sync.rejected)) refused")
            }
            for reason in retrying.prefix(10) {
                Console.result("retrying \(Format.count(reason.files, "file")): \(reason.reason)")
            }
            for failure in failures {
                let name = failure.path.map { FilePath($0).description } ?? failure.id.uuidString
                Console.result("failed \(name): \(failure.reason ?? "for an unknown reason")")
            }
            if status.failed > failures.count {
                Console.result(
                    "\(Format.count(status.failed - failures.count)) more failed; see 'list --status failed'")
            }
        }
    }

    /// Nil in the database of an older uploader.
    private static func versions(_ db: Database) throws -> (totals: VersionTable.Removed, memory: VersionMemory)? {
        guard try VersionTable.isThere(db) else { return nil }
        return (try VersionTable.totals(db), try VersionMemory.fetch(db))
    }
}
