import ArgumentParser
import Foundation
import LFSS3
import LFSStorage

/// Where pictures are offloaded to, as it is written on the command line.
enum StorageArgument: Sendable, Equatable {
    case directory(path: String)
    case bucket(S3URL)

    static let help = ArgumentHelp(
        "Where pictures are offloaded to: dir:PATH, or s3://bucket/prefix.", valueName: "storage")

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        if text.hasPrefix("dir:"), text.utf8.count > 4 {
            self = .directory(path: String(text.dropFirst(4)))
        } else if text.hasPrefix("s3://") {
            do throws(StorageError) {
                self = .bucket(try S3URL(parsing: text))
            } catch {
                throw ValidationError(error.message)
            }
        } else {
            throw ValidationError("--storage names no storage. Write dir:PATH or \(S3URL.example).")
        }
    }

    /// What the page calls it. Without the path and the bucket, which are nobody else's business.
    var kind: String {
        switch self {
        case .directory: "a folder"
        case .bucket: "a bucket"
        }
    }

    /// Opens it, a bucket with what the command line, the environment and the profile say, in this order.
    ///
    /// - Throws: `StorageError` when it cannot be used, such as without keys.
    func open() async throws -> any RemoteStorage {
        switch self {
        case .directory(let path): return try DirectoryStorage(at: URL(filePath: path, directoryHint: .isDirectory))
        case .bucket(let url):
            var options = S3Options()
            options.usesProxyFromEnvironment = true
            let storage = try S3Storage(url, options: options)
            // Without keys every single picture would fail, each for itself.
            try await storage.requireCredentials()
            return storage
        }
    }
}
