import GRDB
import LFSBackup

/// A folder that was pushed or lies in one, or a symbolic link in one. They have no bytes, so LFS knows nothing of
/// them.
struct Entry: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case folder
        /// With the text of the link, which may lead anywhere.
        case link(target: FilePath)
    }

    /// Where it is on this device, from the root of the file system.
    let path: FilePath
    /// The path from the name of the folder that was pushed on.
    let title: String
    let kind: Kind
    let attributes: FileAttributes

    init(_ entry: BackupEntry) {
        let title = FilePath(entry.title)
        (path, self.title, attributes) = (
            FilePath(entry.id), title.text ?? Printable.text(title.exact), entry.attributes
        )
        kind =
            switch entry.kind {
            case .folder: .folder
            case .link(let target): .link(target: FilePath(target))
            }
    }

    /// - Throws: ``UploaderError`` for values that no uploader writes: rows are input.
    init(row: Row) throws {
        guard let path = FilePath.fromDatabaseValue(row["path"]) else { throw Self.unusable("path") }
        guard let title = String.fromDatabaseValue(row["title"]) else { throw Self.unusable("title") }
        (self.path, self.title) = (path, title)
        let target: DatabaseValue = row["target"]
        if target.isNull {
            kind = .folder
        } else if let target = FilePath.fromDatabaseValue(target) {
            kind = .link(target: target)
        } else {
            throw Self.unusable("target")
        }
        guard let seconds = Int.fromDatabaseValue(row["seconds"]),
            let nanoseconds = Int.fromDatabaseValue(row["nanoseconds"]), (0..<1_000_000_000).contains(nanoseconds)
        else { throw Self.unusable("time") }
        var permissions: FileAttributes.Permissions?
        if case .folder = kind {
            guard let mode = UInt32.fromDatabaseValue(row["mode"]), mode <= 0o7777,
                let user = UInt32.fromDatabaseValue(row["userId"]), let group = UInt32.fromDatabaseValue(row["groupId"])
            else { throw Self.unusable("mode") }
            permissions = .init(mode: mode, user: user, group: group)
        }
        attributes = FileAttributes(seconds: seconds, nanoseconds: nanoseconds, permissions: permissions)
    }

    var isLink: Bool { kind != .folder }

    private static func unusable(_ column: String) -> UploaderError {
        UploaderError("its row in \(EntryTable.name) has no usable \(column): another program has written it")
    }
}
