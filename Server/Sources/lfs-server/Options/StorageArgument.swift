import ArgumentParser
import Foundation
import LFSAzure
import LFSS3
import LFSSigningServer
import LFSStorage

/// The store behind the server as a command-line argument.
enum StorageArgument: Sendable {
    case directory(path: String)
    case bucket(S3URL)
    case container(AzureURL)

    /// Parses the argument.
    ///
    /// - Throws: `ValidationError`, which ends the command with the status of a usage error.
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
            // The text of a URL may contain a key.
            let name = text.contains("@") || text.contains("?") ? "This text" : "'\(text)'"
            throw ValidationError("\(name) is not a storage. Write dir:PATH, \(S3URL.example) or \(AzureURL.example).")
        }
    }

    /// Opens the store.
    ///
    /// - Throws: `StorageError` if the store cannot be used, for example without keys.
    func open(publicURL: URL, secret: SigningSecret, reserve: Int64) async throws -> SigningBackend {
        switch self {
        case .directory(let path):
            return try .directory(
                at: URL(filePath: path, directoryHint: .isDirectory), publicURL: publicURL, secret: secret,
                reserve: reserve)
        case .bucket(let url):
            var options = S3Options()
            options.usesProxyFromEnvironment = true
            let storage = try S3Storage(url, options: options)
            // Without keys, every request would fail separately.
            try await storage.requireCredentials()
            return .s3(storage)
        case .container(let url):
            var options = AzureOptions()
            options.usesProxyFromEnvironment = true
            let storage = try AzureStorage(url, options: options)
            // Also checks that the credentials can sign.
            try await storage.requireSigning()
            return .azure(storage)
        }
    }
}
