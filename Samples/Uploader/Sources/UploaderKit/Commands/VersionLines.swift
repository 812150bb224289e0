import ArgumentParser
import Foundation
import GRDB
import LFS

/// The output of `list --versions`.
struct VersionLines {
    let isJSON: Bool

    /// A line of `--json`.
    private struct Event: Encodable {
        var event = "version"
        var id: FileID
        var path: String
        var status: String
        var bytes: Int64
        var url: String?
        var added: String?
        /// True for the current version.
        var current: Bool
        var replaced: String?
        var keptUntil: String?
    }

    private static let header =
        "id                                    size      replaced              kept until            path"

    /// - Throws: ``UploaderError`` for the database of another app. `ExitCode` 3 if a name is unknown or a row is
    ///   unusable.
    func run(_ naming: FileNaming?, database: DatabaseOptions) throws {
        let (connection, table) = try DocumentDatabase.openForReading(database.database)
        var isWhole = true
        var lines = ResultLines()
        // The flush must follow the lines in every case.
        defer { lines.flush() }
        try connection.read { db in
            guard table.isOurs else {
                throw UploaderError("Old versions are kept in the uploader's own databases only. Leave --versions out.")
            }
            guard try VersionTable.isThere(db) else {
                throw UploaderError(
                    "\(database.database) is of an older uploader, which kept no versions: run 'push' first.")
            }
            let named = try naming?.resolve([table], withVersions: true, db)
            for refusal in named?.refusals ?? [] {
                isWhole = false
                tell(refusal, json: isJSON)
            }
            let documents = try named.map {
                Set($0.files.map(\.key) + (try VersionList.documents(of: $0.versions, db)))
            }
            if !isJSON, Console.showsResults { lines.add(Self.header) }
            let choice = try VersionMemory.fetch(db).holding
            try VersionList(choice: choice).forEach(documents, db) { result in
                switch result {
                case .success(let line): lines.add(try text(line, choice: choice))
                case .failure(let row):
                    isWhole = false
                    Console.message("uploader: file \(row.fileID) cannot be listed: \(row.reason)")
                }
            }
        }
        lines.flush()
        if !isWhole { throw ExitCode(3) }
    }

    private func text(_ line: VersionList.Line, choice: KeepVersions) throws -> String {
        let (replaced, until) = (line.replaced.map(ListCommand.time), line.keptUntil.map(ListCommand.time))
        if isJSON {
            return try Event(
                id: line.id, path: line.path.exact,
                status: (line.isRemote ? FileData.Status.remote : .local).rawValue, bytes: line.byteCount,
                url: line.url, added: line.added.map(ListCommand.time), current: !line.isOld, replaced: replaced,
                keptUntil: until
            ).jsonLine()
        }
        let end = line.isOld && choice == .forever ? "forever" : until ?? "-"
        let columns = [
            line.id.uuidString, Format.column(Format.bytes(line.byteCount), width: 8),
            Format.column(replaced ?? "-", width: 20), Format.column(end, width: 20), line.path.description,
        ]
        return columns.joined(separator: "  ")
    }
}
