import ArgumentParser
import Foundation
import LFSAzure
import LFSS3
import LFSSignedURL
import LFSStorage
import LFSWebDAV

/// A storage on the command line, to which files are uploaded.
package enum StorageArgument: Sendable {
    case directory(path: String)
    case s3(S3Argument)
    case azure(AzureArgument)
    case webDAV(WebDAVArgument)
    case signed(SignedURLArgument)

    static let help = ArgumentHelp(
        "The storage, such as dir:PATH. By default the remembered one.", valueName: "storage")

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    package init(parsing text: String) throws {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts.first {
        case "dir" where parts.count == 2 && !parts[1].isEmpty:
            guard FilePath(argument: text).text != nil else {
                throw ValidationError(
                    "The path of the storage is not UTF-8. Give one that is, such as that of a link.")
            }
            self = .directory(path: String(parts[1]))
        case let scheme? where S3URL.schemes.contains(String(scheme)) && text.hasPrefix("\(scheme)://"):
            self = .s3(try S3Argument(parsing: text))
        case "azure" where text.hasPrefix("azure://"): self = .azure(try AzureArgument(parsing: text))
        case let scheme? where WebDAVURL.schemes.contains(String(scheme)):
            self = .webDAV(try WebDAVArgument(parsing: text))
        case let scheme? where SigningServerURL.schemes.contains(String(scheme)):
            self = .signed(try SignedURLArgument(parsing: text))
        default:
            throw ValidationError(
                "'\(text)' is not a storage. Write dir:PATH, for example dir:/mnt/backup, \(S3URL.example), "
                    + "gs://bucket/prefix, "
                    + "\(AzureURL.example), \(WebDAVURL.example), or \(SigningServerURL.example).")
        }
    }

    /// Returns true if a text appears to be a storage on a server, at any position on the command line.
    static func looksLikeOne(_ text: String) -> Bool {
        (["azure"] + S3URL.schemes + WebDAVURL.schemes + SigningServerURL.schemes).contains {
            text.hasPrefix($0 + "://")
        }
    }

    /// The path of a local folder. Nil for a storage on a server.
    var localPath: String? {
        switch self {
        case .directory(let path): path
        case .s3, .azure, .webDAV, .signed: nil
        }
    }

    /// The URL of the server in the argument. Nil for the services of Amazon, Google and Azure. Their hosts are built
    /// in, or set by the user's environment.
    private var namedServer: URL? {
        switch self {
        case .directory: nil
        case .s3(let bucket): bucket.url.endpoint
        case .azure(let container): container.url.endpoint
        case .webDAV(let folder): folder.url.folder
        case .signed(let server): server.url.server
        }
    }

    /// The host in the argument, with its port unless that is the default one.
    package var namedHost: String? { namedServer.map { StorageLocation.host($0) } }

    /// Rejects a token or a password over an unencrypted connection. A request to a bucket contains neither, because it
    /// is signed.
    ///
    /// - Throws: ``UploaderError``.
    func requireEncryption() throws {
        if case .s3 = self { return }
        guard let url = namedServer else { return }
        try Self.requireEncryption(url)
    }

    /// - Throws: ``UploaderError`` for `http` to another machine.
    static func requireEncryption(_ url: URL) throws {
        guard url.scheme == "http", let host = url.host(percentEncoded: false)?.lowercased(),
            !StorageLocation.isLoopback(host)
        else { return }
        throw UploaderError(
            "With http, others on the way to \(host) could read the token or the password. Write https instead.")
    }

    /// True if large files are uploaded in parts.
    var takesParts: Bool {
        switch self {
        case .s3, .azure: true
        case .directory, .webDAV, .signed: false
        }
    }

    /// Returns the location.
    ///
    /// - Throws: `StorageError` if the files of the AWS tools cannot be read.
    func location() throws -> StorageLocation {
        switch self {
        case .directory(let path): StorageLocation(folder: path)
        case .s3(let bucket): try bucket.location()
        case .azure(let container): try container.location()
        case .webDAV(let folder): folder.location
        case .signed(let server): server.location
        }
    }

    /// Opens the storage.
    ///
    /// - Parameter writes: true if the storage must be writable. A folder that is only read may be on a read-only disk.
    /// - Throws: `StorageError` if the storage cannot be used.
    func open(_ transfer: TransferOptions, writes: Bool = true) async throws -> any RemoteStorage {
        switch self {
        case .directory(let path) where writes: try DirectoryStorage(at: URL(fileURLWithPath: path, isDirectory: true))
        case .directory(let path): try DirectoryStorage(reading: URL(fileURLWithPath: path, isDirectory: true))
        case .s3(let bucket): try await bucket.open(transfer)
        case .azure(let container): try await container.open(transfer)
        case .webDAV(let folder): try await folder.open(transfer)
        case .signed(let server): try await server.open(transfer)
        }
    }
}

/// Converts a library error about a storage's URL into an error of the command line.
func validating<Value>(_ body: () throws(StorageError) -> Value) throws -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError(error.message)
    }
}
