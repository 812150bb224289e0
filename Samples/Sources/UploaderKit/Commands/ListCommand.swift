import ArgumentParser
import Foundation
import GRDB
import LFS

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the attached files: id, status, size, path.",
        discussion: """
            Without files all are listed. What is on the storage is 'remote', whether it is
            here or not; all else is 'local'. --status failed shows those whose upload was
            given up, or whose bytes are known to be lost; 'status' tells why. --long tells
            in three more columns what is here, what is pinned, and when it was added.
            --gone shows those whose originals are not where they were pushed from any
            more; 'remove --gone' removes them. --versions shows the old versions of each
            file as well, which 'push --keep-versions' keeps: when each was replaced, and
            until when it is kept. The first line of a file is what it is now. It goes with
            files and --json only.

            Where a script reads the output there is no header, and the order of the
            columns stays: the id first, the path last.

            \(FileNaming.discussion)
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: "Only those that are local, remote or failed.")
    var status: FileList.Status?

    @Flag(
        name: .customLong("here"), inversion: .prefixedNo,
        help: "Only those whose bytes are on this device, or are not.")
    var isHere: Bool?

    @Flag(name: .long, help: "Only those that are pinned.")
    var pinned = false

    @Flag(name: .long, help: "Only those whose originals are gone, and were not moved.")
    var gone = false

    @Option(name: .long, help: "The order: path, size, date or status.")
    var sort = FileList.Order.path

    @Flag(name: .shortAndLong, help: "The other way round: the largest or the newest first.")
    var reverse = false

    @Flag(name: .shortAndLong, help: "Tell also what is here, what is pinned, and when it was added.")
    var long = false

    @Flag(name: .long, help: "Show the old versions of files as well, with their ids.")
    var versions = false

    @Flag(name: .long, help: "Print one JSON object for each file.")
    var json = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        let hasOther = status != nil || isHere != nil || pinned || gone || sort != .path || reverse || long
        if versions, hasOther { throw ValidationError("--versions goes with files and --json only.") }
    }

    /// One line of `--json`.
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
    }

    func run() throws {
        if versions {
            return try reportingErrors(json: json) { try VersionLines(isJSON: json).run(files.naming, database) }
        }
        try reportingErrors(json: json) {
            var isWhole = true
            let (connection, table) = try DocumentDatabase.openForReading(database.database)
            let here = try idsHere()
            var lines = ResultLines()
            // After the lines, wherever it ends.
            defer { lines.flush() }
            if !json, Console.showsResults { lines.add(Self.header(long: long)) }
            let originals = try gone ? GoneOriginals.find(files.naming, table, connection) : nil
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
                    let list = FileList(
                        table: table, filter: .init(status: status, isHere: isHere, isPinned: pinned), order: sort,
                        isReversed: reverse, here: here)
                    try list.forEach(keys?[index] ?? named?.tables[index].map(\.key), db) { result in
                        switch result {
                        case .success(let line): lines.add(try text(line))
                        case .failure(let row):
                            isWhole = false
                            Console.message("uploader: file \(row.fileID) cannot be listed: \(row.reason)")
                        }
                    }
                }
            }
            lines.flush()
            if !isWhole { throw ExitCode(3) }
        }
    }

    /// What cannot be known counts as not here, and is said where it is asked for.
    private func idsHere() throws -> Set<String> {
        if let ids = try FileList.idsHere(database: database.database) { return ids }
        guard isHere == nil else {
            throw UploaderError("You may not look into \(database.database).lfs, so nobody can tell what is here.")
        }
        if long || json {
            Console.message(
                "uploader: You may not look into \(database.database).lfs: no file is told to be here.")
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
                pinned: line.isPinned, added: line.date.map(Self.time)
            ).jsonLine()
        }
        let size = Format.column(Format.bytes(line.byteCount), 8)
        var text = "\(line.id)  \(Format.column(Self.status(line), 6))  \(size)  "
        if long {
            text += "\(line.isHere ? "here" : "-   ")  \(line.isPinned ? "pinned" : "-     ")  "
            text += "\(Format.column(line.date.map(Self.time) ?? "-", 20))  "
        }
        return text + line.path.description
    }

    private static func status(_ line: FileList.Line) -> String {
        (line.isRemote ? FileData.Status.remote : .local).rawValue
    }

    static func time(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension FileList.Status: ExpressibleByArgument {}
extension FileList.Order: ExpressibleByArgument {}
