import ArgumentParser
import Foundation
import LFSStorage

/// Where files are offloaded to, as it is written on the command line.
enum StorageArgument: Sendable {
    case directory(path: String)

    static let help: ArgumentHelp = "Where files are offloaded to: dir:PATH."

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts.first {
        case "dir" where parts.count == 2 && !parts[1].isEmpty:
            self = .directory(path: String(parts[1]))
        default:
            throw ValidationError("'\(text)' is not a storage. Write dir:PATH, for example dir:/mnt/backup.")
        }
    }

    /// The folder that it is, nil when it is not on this machine.
    var localPath: String? {
        switch self {
        case .directory(let path): path
        }
    }

    /// Opens the storage.
    ///
    /// - Throws: `StorageError` when it cannot be used.
    func open() throws -> any RemoteStorage {
        switch self {
        case .directory(let path): try DirectoryStorage(at: URL(fileURLWithPath: path, isDirectory: true))
        }
    }
}
