import ArgumentParser
import Foundation
import LFSStorage

/// Where files are offloaded to, as it is written on the command line.
enum StorageArgument: Sendable {
    case directory(path: String)
    case s3(S3Argument)
    case webDAV(WebDAVArgument)

    static let help = ArgumentHelp(
        "Where files are offloaded to: dir:PATH, s3://bucket/prefix, or webdav+https://host/path.", valueName: "storage"
    )

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts.first {
        case "dir" where parts.count == 2 && !parts[1].isEmpty:
            self = .directory(path: String(parts[1]))
        case "s3" where text.hasPrefix("s3://"): self = .s3(try S3Argument(parsing: text))
        case let scheme? where WebDAVArgument.schemes.contains(String(scheme)):
            self = .webDAV(try WebDAVArgument(parsing: text))
        default:
            throw ValidationError(
                "'\(text)' is not a storage. Write dir:PATH, for example dir:/mnt/backup, \(S3Argument.form), or "
                    + "\(WebDAVArgument.form).")
        }
    }

    /// Whether a text was meant to be a storage on a server, wherever it stands on the command line.
    static func looksLikeOne(_ text: String) -> Bool {
        (["s3"] + WebDAVArgument.schemes).contains { text.hasPrefix($0 + "://") }
    }

    /// The folder that it is, nil when it is not on this machine.
    var localPath: String? {
        switch self {
        case .directory(let path): path
        case .s3, .webDAV: nil
        }
    }

    /// Whether large files go to it in parts.
    var takesParts: Bool {
        if case .s3 = self { true } else { false }
    }

    /// Where it is.
    ///
    /// - Throws: `StorageError` when the files of the AWS tools cannot be read.
    func location() throws -> StorageLocation {
        switch self {
        case .directory(let path): StorageLocation(folder: path)
        case .s3(let bucket): try bucket.location()
        case .webDAV(let folder): folder.location
        }
    }

    /// Opens the storage.
    ///
    /// - Throws: `StorageError` when it cannot be used.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        switch self {
        case .directory(let path): try DirectoryStorage(at: URL(fileURLWithPath: path, isDirectory: true))
        case .s3(let bucket): try await bucket.open(transfer)
        case .webDAV(let folder): try await folder.open(transfer)
        }
    }
}
