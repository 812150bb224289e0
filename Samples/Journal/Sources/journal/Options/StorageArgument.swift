import ArgumentParser
import Foundation
import LFSS3
import LFSStorage

/// Where pictures are offloaded to, as it is written on the command line.
enum StorageArgument: Sendable, Equatable {
    case directory(path: String)
    case bucket(BucketArgument)

    static let help = ArgumentHelp(
        "Where pictures are offloaded to: dir:PATH, or s3://bucket/prefix.", valueName: "storage")

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        if text.hasPrefix("dir:"), text.utf8.count > 4 {
            self = .directory(path: String(text.dropFirst(4)))
        } else if text.hasPrefix("s3://") {
            self = .bucket(try BucketArgument(parsing: text))
        } else {
            throw ValidationError("--storage names no storage. Write dir:PATH or \(BucketArgument.form).")
        }
    }

    /// What the page calls it. Without the path and the bucket, which are nobody else's business.
    var kind: String {
        switch self {
        case .directory: "a folder"
        case .bucket: "a bucket"
        }
    }

    /// - Throws: `StorageError` when it cannot be used.
    func open() async throws -> any RemoteStorage {
        switch self {
        case .directory(let path): try DirectoryStorage(at: URL(filePath: path, directoryHint: .isDirectory))
        case .bucket(let bucket): try await bucket.open()
        }
    }
}
