import ArgumentParser
import Foundation
import LFSAzure
import LFSS3
import LFSSigning
import LFSStorage

/// The store behind the server, as it is written on the command line.
enum StorageArgument: Sendable {
    case directory(path: String)
    case bucket(S3URL)
    case container(AzureURL)

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        if text.hasPrefix("dir:"), text.utf8.count > 4 {
            self = .directory(path: String(text.dropFirst(4)))
        } else if text.hasPrefix("s3://") || text.hasPrefix("azure://") {
            do throws(StorageError) {
                self =
                    text.hasPrefix("s3:")
                    ? .bucket(try S3URL(parsing: text)) : .container(try AzureURL(parsing: text))
            } catch {
                throw ValidationError(error.message)
            }
        } else {
            throw ValidationError(
                "--storage names no storage. Write dir:PATH, \(S3URL.example) or \(AzureURL.example).")
        }
    }

    /// - Throws: `StorageError` when it cannot be used, such as without keys.
    func open(publicURL: URL, secret: SigningSecret) async throws -> SigningBackend {
        switch self {
        case .directory(let path):
            return try .directory(
                at: URL(filePath: path, directoryHint: .isDirectory), publicURL: publicURL, secret: secret)
        case .bucket(let url):
            var options = S3Options()
            options.usesProxyFromEnvironment = true
            let storage = try S3Storage(url, options: options)
            // Without keys every single request would fail, each for itself.
            try await storage.requireCredentials()
            return .s3(storage)
        case .container(let url):
            var options = AzureOptions()
            options.usesProxyFromEnvironment = true
            let storage = try AzureStorage(url, options: options)
            // The same, and a key to sign with, if it is one that the service gives.
            try await storage.requireSigning()
            return .azure(storage)
        }
    }
}
