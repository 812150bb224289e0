import ArgumentParser
import CommandLineOptions
import Foundation
import GRDB
import LFS
import LFSSettings
import LFSStorage
import LFSSync

struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Print the facts that a bug report needs, without names and secrets.",
        discussion: """
            The report has versions, the options that variables or the configuration file
            set, counts of files, error codes and settings. It has no paths, hosts,
            accounts or messages, so it can be published.

            EXAMPLES
              Write the facts to a file, for an issue:
                uploader report --database photos.sqlite >report.txt
            """)

    @Option(
        name: .long, help: ArgumentHelp("The database that the report is about.", valueName: "path"),
        completion: .file(), transform: DatabaseFile.path(of:))
    var database: String?

    func run() async throws {
        try await reportingErrors(json: false) {
            var facts = try systemFacts()
            if let database {
                let (connection, table) = try DocumentDatabase.openForReading(database)
                facts += try await connection.read { db in try DatabaseFacts(table, db).lines }
                if table.isOurs {
                    try await UploaderSettings.use(at: database) { settings in facts += try await lines(settings) }
                }
            }
            for line in facts { Console.result(line) }
        }
    }

    private func systemFacts() throws -> [String] {
        let process = ProcessInfo.processInfo
        let sqlite = try DatabaseQueue().read { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") }
        let processors = Format.count(process.processorCount, noun: "processor")
        let options = try Uploader.sources.values(of: Uploader.self).map(\.name)
        return [
            "uploader \(Uploader.configuration.version)",
            "system: \(process.operatingSystemVersionString), \(processors)",
            "SQLite: \(sqlite ?? "unknown")",
            "options from variables and files: \(options.isEmpty ? "none" : options.joined(separator: ", "))",
        ]
    }

    /// Returns the settings. Only numbers, times and switches are shown. A text may be a path or a name.
    private func lines(_ settings: StorageRouter) async throws -> [String] {
        var lines: [String] = []
        for line in UploaderSettings.lines {
            let state = try await line.state(settings)
            let isPlain =
                !line.name.hasPrefix("account.") && state.value?.wholeMatch(of: /true|false|[0-9]+[a-z]*/) != nil
            let value = isPlain ? state.value ?? "" : state.isSet ? "set" : "not set"
            lines.append("\(line.name): \(state.problem == nil ? value : "unreadable")")
        }
        return lines
    }
}

/// The counts of a database, without the names of files and storages.
private struct DatabaseFacts {
    let lines: [String]

    init(_ table: DocumentTable, _ db: Database) throws {
        let state = try StatusState(table, db)
        let status = state.status
        let kind = state.storage?.split(separator: ":", maxSplits: 1).first.map(String.init)
        let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        let pageSize = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? "unknown"
        var lines = [
            "database: \(Format.bytes(pages * pageSize)), journal mode \(mode)",
            "made by: \(table.isOurs ? "uploader" : "another program")",
            "storage: \(kind ?? "none")",
            "files: \(status.files), \(status.remote) remote, \(status.local) local, \(status.failed) failed",
            "bytes to upload: \(status.pendingBytes)",
            "deletions: \(state.waitingDeletions) waiting, \(state.heldDeletions) held",
        ]
        if let outage = status.outage { lines.append("outage: \(outage.code.rawValue)") }
        if status.hold != nil { lines.append("uploads are on hold") }
        if let sync = state.sync {
            lines.append("sync: \(sync.pending) to send, \(sync.parked) waiting, \(sync.rejected) refused")
        }
        lines += try Self.counts("retrying", of: Upload.all().queued().filter(Upload.Columns.errorCode != nil), db)
        lines += try Self.counts("failed", of: Upload.all().failed(), db)
        self.lines = lines
    }

    /// Returns a line for each error code of some uploads.
    private static func counts(
        _ state: String, of uploads: QueryInterfaceRequest<Upload>, _ db: Database
    ) throws -> [String] {
        let code = Upload.Columns.errorCode
        let request = uploads.select(code, count(Column.rowID)).group(code).order(code)
        return try Row.fetchAll(db, request).map { row in
            let name = String.fromDatabaseValue(row[0]) ?? "unknown"
            return "\(state) with \(name): \(Format.count(Int.fromDatabaseValue(row[1]) ?? 0, noun: "file"))"
        }
    }
}
