import ArgumentParser
import Foundation
import JournalWeb
import LFSS3
import LFSSettings
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

    /// Opens it, a bucket with what the command line, the environment, the secrets and the profile say, in this
    /// order.
    ///
    /// - Parameter settings: opens those of the journal, which are asked where nothing else has keys.
    /// - Throws: `StorageError` when it cannot be used, such as without keys; `SettingsError` for the secrets.
    func open(_ settings: () async throws -> StorageRouter) async throws -> any RemoteStorage {
        switch self {
        case .directory(let path): return try DirectoryStorage(at: URL(filePath: path, directoryHint: .isDirectory))
        case .bucket(let url):
            var options = S3Options()
            options.usesProxyFromEnvironment = true
            let environment = try await Self.environment(url, settings)
            let storage = try S3Storage(url, options: options, environment: environment)
            // Without keys every single picture would fail, each for itself.
            do {
                try await storage.requireCredentials()
            } catch let error as StorageError where error.code == .unauthorized {
                throw StorageError(
                    error.code,
                    "\(error.message) Or keep them for this journal: journal secrets set-storage --database FILE.",
                    cause: error)
            }
            return storage
        }
    }

    /// The variables of the process, with the keys that the journal keeps where neither they nor the URL name any.
    private static func environment(
        _ url: S3URL, _ settings: () async throws -> StorageRouter
    ) async throws -> [String: String] {
        let environment = ProcessInfo.processInfo.environment
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
        guard url.profile == nil, names.allSatisfy({ environment[$0]?.isEmpty != false }),
            let kept = try await settings().getIfPresent(.storageCredentials)
        else { return environment }
        // Not with the token of other keys.
        return environment.filter { $0.key != "AWS_SESSION_TOKEN" }.merging(kept.variables) { $1 }
    }
}
