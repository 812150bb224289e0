import GRDB
import LFSBackup

/// A folder that was pushed or is inside a pushed one, or a symbolic link in such a folder. Entries have no bytes, so
/// LFS does not store them.
struct Entry: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case folder
        /// A symbolic link with its target, which may be anywhere.
        case link(target: FilePath)
    }

    /// The absolute path on this device.
    let path: FilePath
    /// The path relative to the pushed folder, including the folder's name.
    let title: String
    let kind: Kind
    let attributes: FileAttributes

    init(_ entry: BackupEntry) {
        let title = FilePath(entry.title)
        path = FilePath(entry.id)
        self.title = title.text ?? Printable.text(title.exact)
        attributes = entry.attributes
        kind =
            switch entry.kind {
            case .folder: .folder
            case .link(let target): .link(target: FilePath(target))
            }
    }

    /// - Throws: ``UploaderError`` for invalid values, because rows are untrusted input.
    init(row: Row) throws {
        guard let path = FilePath.fromDatabaseValue(row["path"]) else { throw Self.unusable("path") }
        guard let title = String.fromDatabaseValue(row["title"]) else { throw Self.unusable("title") }
        self.path = path
        self.title = title
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
