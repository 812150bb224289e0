import ArgumentParser
import Foundation
import LFSStorage

/// Where files are offloaded to, as it is written on the command line.
enum StorageArgument: Sendable {
    case directory(path: String)
    case s3(S3Argument)

    static let help = ArgumentHelp(
        "Where files are offloaded to: dir:PATH, or s3://bucket/prefix.", valueName: "storage")

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts.first {
        case "dir" where parts.count == 2 && !parts[1].isEmpty:
            self = .directory(path: String(parts[1]))
        case "s3" where text.hasPrefix("s3://"): self = .s3(try S3Argument(parsing: text))
        default:
            throw ValidationError(
                "'\(text)' is not a storage. Write dir:PATH, for example dir:/mnt/backup, or \(S3Argument.form).")
        }
    }

    /// The folder that it is, nil when it is not on this machine.
    var localPath: String? {
        switch self {
        case .directory(let path): path
        case .s3: nil
        }
    }

    /// Where it is.
    ///
    /// - Throws: `StorageError` when the files of the AWS tools cannot be read.
    func location() throws -> StorageLocation {
        switch self {
        case .directory(let path): StorageLocation(folder: path)
        case .s3(let bucket): try bucket.location()
        }
    }

    /// Opens the storage.
    ///
    /// - Throws: `StorageError` when it cannot be used.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        switch self {
        case .directory(let path): try DirectoryStorage(at: URL(fileURLWithPath: path, isDirectory: true))
        case .s3(let bucket): try await bucket.open(transfer)
        }
    }
}
