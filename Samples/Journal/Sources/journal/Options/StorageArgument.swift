import ArgumentParser
import Foundation
import JournalWeb
import LFSS3
import LFSSettings
import LFSStorage

/// The storage that pictures are offloaded to, as it is written on the command line.
enum StorageArgument: Sendable, Equatable {
    case directory(path: String)
    case bucket(S3URL)

    static let help = ArgumentHelp(
        "The storage of the pictures: dir:PATH or s3://bucket/prefix.", valueName: "storage")

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
            throw ValidationError("--storage is not valid. Write dir:PATH or \(S3URL.example).")
        }
    }

    /// The kind of storage that the page shows. The path and the name of the bucket are private.
    var kind: String {
        switch self {
        case .directory: "a folder"
        case .bucket: "a bucket"
        }
    }

    /// Opens the storage. A bucket takes its configuration from the command line, the environment, the secrets and the
    /// profile, in this order.
    ///
    /// - Parameters:
    ///   - creates: Indicates that a missing bucket is created.
    ///   - settings: A closure that opens the journal's settings. It is called for a bucket only.
    /// - Throws: `StorageError` if the storage cannot be used, for example without keys. `SettingsError` for the
    ///   secrets.
    func open(creates: Bool = false, _ settings: () async throws -> StorageRouter) async throws -> any RemoteStorage {
        switch self {
        case .directory(let path): return try DirectoryStorage(at: URL(filePath: path, directoryHint: .isDirectory))
        case .bucket(let url):
            var options = S3Options()
            options.usesProxyFromEnvironment = true
            let settings = try await settings()
            options.clientCertificate = try await settings.getIfPresent(.clientCertificate)
            let environment = try await Self.environment(url, settings: settings)
            let storage = try S3Storage(url, options: options, environment: environment)
            // Without this check and without keys, each picture would fail separately.
            do {
                try await storage.requireCredentials()
            } catch let error as StorageError where error.code == .unauthorized {
                throw StorageError(
                    error.code,
                    message:
                        "\(error.message) Or store them for this journal: journal secrets set-storage --database FILE.",
                    cause: error)
            }
            if creates { try await storage.createIfMissing() }
            return storage
        }
    }

    /// Returns the environment variables. The keys in the journal's secrets are added if neither the environment nor
    /// the URL specifies any.
    private static func environment(
        _ url: S3URL, settings: StorageRouter
    ) async throws -> [String: String] {
        let environment = ProcessInfo.processInfo.environment
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
        guard url.profile == nil, names.allSatisfy({ environment[$0]?.isEmpty != false }),
            let kept = try await settings.getIfPresent(.storageCredentials)
        else { return environment }
        // The session token of the environment belongs to other keys.
        return environment.filter { $0.key != "AWS_SESSION_TOKEN" }.merging(kept.variables) { $1 }
    }
}
