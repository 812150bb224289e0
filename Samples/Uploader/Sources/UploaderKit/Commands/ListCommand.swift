import ArgumentParser
import Foundation
import GRDB
import LFS

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the attached files: id, status, size, path.",
        usage: "uploader list --database <path> [<options>] [<file> ...]",
        discussion: """
            Without names, all files are listed ('uploader help names'). A file on the
            storage is 'remote', and any other file is 'local'. 'failed' files are those
            whose upload was given up, or whose object or bytes were found missing or
            damaged. 'status' shows the reasons. --versions shows the times of replacement
            and expiry, and allows only names and --json. If the output is not a terminal,
            there is no header. The id is the first column, the path the last.

            EXAMPLES
              List the largest files first:
                uploader list --database photos.sqlite --sort size --reverse
              List the files of a folder that have no local copy:
                uploader list --database photos.sqlite --no-here ~/Pictures/2019
              List the old versions of a file:
                uploader list --database photos.sqlite --versions report.odt
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: "List only files with this status.")
    var status: FileList.Status?

    @Flag(
        name: .customLong("here"), inversion: .prefixedNo,
        help: "List only files with, or without, a local copy.")
    var isHere: Bool?

    @Flag(name: .long, help: "List only pinned files.")
    var pinned = false

    @Flag(name: .long, help: "List only files whose originals are gone. Moved files are left out.")
    var gone = false

    @Option(name: .long, help: "The order.")
    var sort = FileList.Order.path

    @Flag(name: .shortAndLong, help: "Reverse the order: the largest or the newest first.")
    var reverse = false

    @Flag(name: .shortAndLong, help: "Also show local copies, pins and the date of each file.")
    var long = false

    @Flag(name: .long, help: "Also list the old versions of files, with their ids.")
    var versions = false

    @Flag(name: .long, help: "Print one JSON object per file.")
    var json = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        let hasOther = status != nil || isHere != nil || pinned || gone || sort != .path || reverse || long
        if versions, hasOther { throw ValidationError("--versions can be combined only with files and --json.") }
    }

    /// A line of `--json`.
    private struct Event: Encodable {
        var event = "file"
        var id: FileID
        var path: String
        var status: String
        var failed: Bool?
        var bytes: Int64
        var url: String?
        var here: Bool
        var pinned: Bool
        var added: String?
        /// True for an old version. Nil for a current file.
        var isVersion: Bool?
    }

    func run() throws {
        if versions {
            return try reportingErrors(json: json) {
                try VersionLines(isJSON: json).run(files.naming, database: database)
            }
        }
        try reportingErrors(json: json) {
            var isWhole = true
            let (connection, table) = try DocumentDatabase.openForReading(database.database)
            let here = try idsHere()
            var lines = ResultLines()
            // The flush must follow the lines in every case.
            defer { lines.flush() }
            if !json, Console.showsResults { lines.add(Self.header(long: long)) }
            let originals = try gone ? RemovedOriginals.find(files.naming, table: table, database: connection) : nil
            try connection.read { db in
                let named = try gone ? nil : files.naming?.resolve(table.all, db)
                for refusal in named?.refusals ?? originals?.refusals ?? [] {
                    isWhole = false
                    lines.flush()
                    tell(refusal, json: json)
                }
                for doubt in originals?.doubts ?? [] where !doubt.files.isEmpty {
                    Console.message("uploader: \(doubt.words)")
                }
                let keys = originals.map { found in [found.all.map(\.key)] + table.all.dropFirst().map { _ in [] } }
                for (index, table) in table.all.enumerated() {
                    var list = FileList(
                        table: table, filter: .init(status: status, isHere: isHere, isPinned: pinned), order: sort,
                        isReversed: reverse, here: here)
                    let keys = keys?[index] ?? named?.tables[index].map(\.key)
                    func add(_ result: Result<FileList.Line, UnusableRow>) throws {
                        switch result {
                        case .success(let line): lines.add(try text(line))
                        case .failure(let row):
                            isWhole = false
                            Console.message("uploader: file \(row.fileID) cannot be listed: \(row.reason)")
                        }
                    }
                    try list.forEach(keys, db, add)
                    // As in 'status', the failed files include old versions.
                    guard status == .failed, !gone, table.isOurs, try VersionTable.isThere(db) else { continue }
                    list.isOfVersions = true
                    try list.forEach(keys, db, add)
                }
            }
            lines.flush()
            if !isWhole { throw ExitCode(3) }
        }
    }

    /// Returns the ids of the files with local copies. If they cannot be read, files count as not local. A message
    /// reports this where it matters.
    private func idsHere() throws -> Set<String> {
        if let ids = try FileList.idsHere(database: database.database) { return ids }
        guard isHere == nil else {
            throw UploaderError("The folder \(database.database).lfs may not be read, so local copies are unknown.")
        }
        if long || json {
            Console.message(
                "uploader: The folder \(database.database).lfs may not be read, so no local copy is shown.")
        }
        return []
    }

    // MARK: Lines

    private static func header(long: Bool) -> String {
        let middle = long ? "here  pinned  added                 " : ""
        return "id                                    status  size      \(middle)path"
    }

    private func text(_ line: FileList.Line) throws -> String {
        if json {
            return try Event(
                id: line.id, path: line.path.exact, status: Self.status(line),
                failed: line.isFailed ? true : nil, bytes: line.byteCount, url: line.url, here: line.isHere,
                pinned: line.isPinned, added: line.date.map(Self.time), isVersion: line.isVersion ? true : nil
            ).jsonLine()
        }
        let size = Format.column(Format.bytes(line.byteCount), width: 8)
        let status = line.isFailed ? FileList.Status.failed.rawValue : Self.status(line)
        var text = "\(line.id)  \(Format.column(status, width: 6))  \(size)  "
        if long {
            text += "\(line.isHere ? "here" : "-   ")  \(line.isPinned ? "pinned" : "-     ")  "
            text += "\(Format.column(line.date.map(Self.time) ?? "-", width: 20))  "
        }
        // In the output for a script, the path is last.
        return text + line.path.description + (line.isVersion && Console.showsResults ? "  (old version)" : "")
    }

    private static func status(_ line: FileList.Line) -> String {
        (line.isRemote ? FileData.Status.remote : .local).rawValue
    }

    static func time(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension FileList.Status: ExpressibleByArgument {}
extension FileList.Order: ExpressibleByArgument {}
