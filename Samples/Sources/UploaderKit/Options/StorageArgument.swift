import ArgumentParser
import Foundation
import LFSAzure
import LFSS3
import LFSSignedURL
import LFSStorage
import LFSWebDAV

/// Where files are offloaded to, as it is written on the command line.
package enum StorageArgument: Sendable {
    case directory(path: String)
    case s3(S3Argument)
    case azure(AzureArgument)
    case webDAV(WebDAVArgument)
    case signed(SignedURLArgument)

    static let help = ArgumentHelp(
        """
        Where files are offloaded to: dir:PATH, s3://bucket/prefix, gs://bucket/prefix, \
        azure://account/container/prefix, webdav+https://host/path, or signed+https://host/lfs; the one that the \
        database remembers otherwise.
        """, valueName: "storage")

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    package init(parsing text: String) throws {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts.first {
        case "dir" where parts.count == 2 && !parts[1].isEmpty:
            guard FilePath(argument: text).text != nil else {
                throw ValidationError(
                    "The path of the storage is no UTF-8, which it has to be. Give one that is, such as a link's.")
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
                    + "\(AzureURL.example), \(WebDAVURL.example), or \(SigningServerURL.example).")
        }
    }

    /// Whether a text was meant to be a storage on a server, wherever it stands on the command line.
    static func looksLikeOne(_ text: String) -> Bool {
        (["azure"] + S3URL.schemes + WebDAVURL.schemes + SigningServerURL.schemes).contains {
            text.hasPrefix($0 + "://")
        }
    }

    /// The folder that it is, nil when it is not on this machine.
    var localPath: String? {
        switch self {
        case .directory(let path): path
        case .s3, .azure, .webDAV, .signed: nil
        }
    }

    /// The URL of a server that the text itself names. The services of Amazon, Google and Azure have none: their
    /// hosts are built in, or the environment of the person names another.
    private var namedServer: URL? {
        switch self {
        case .directory: nil
        case .s3(let bucket): bucket.url.endpoint
        case .azure(let container): container.url.endpoint
        case .webDAV(let folder): folder.url.folder
        case .signed(let server): server.url.server
        }
    }

    /// The host that the text itself names, with its port unless that is the usual one.
    package var namedHost: String? { namedServer.map { StorageLocation.host($0) } }

    /// Refuses to send a token or a password without encryption. A request to a bucket has neither: it is signed.
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
            "With http everybody on the way to \(host) could read the token or the password. Write https instead.")
    }

    /// Whether large files go to it in parts.
    var takesParts: Bool {
        switch self {
        case .s3, .azure: true
        case .directory, .webDAV, .signed: false
        }
    }

    /// Where it is.
    ///
    /// - Throws: `StorageError` when the files of the AWS tools cannot be read.
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
    /// - Parameter writes: whether it has to take writes. A folder to read from may be on a disk that takes none.
    /// - Throws: `StorageError` when it cannot be used.
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

/// What the library refuses of a storage's URL, as what is wrong with the command line.
func validating<Value>(_ body: () throws(StorageError) -> Value) throws -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError(error.message)
    }
}
