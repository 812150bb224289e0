public import Foundation
public import LFSAzure
public import LFSS3
public import LFSStorage
import LFSWire

/// The store behind a server: a signer of requests, and keepers of parts and objects.
public struct SigningBackend: Sendable {
    let signer: any ActionSigner
    /// The keeper of parts, or nil if every object is uploaded with one request.
    let parts: (any MultipartStore)?
    let objects: any ObjectStore
    /// The digests that a client must send for uploads.
    let digests: [SigningDescription.Digest]
    /// The digests that a client must send for parts.
    let partDigests: [SigningDescription.Digest]
    /// True if exactly one of several concurrent creators of an object succeeds.
    let createsAtomically: Bool
    /// The store of the server's own URLs, or nil if the URLs lead to another server.
    let folder: FolderStore?

    /// Returns a backend for a bucket of S3. The URLs lead to the bucket. They bind the length, the content and the
    /// expiry. If the bucket's server supports conditions, they also require that the object does not exist yet.
    ///
    /// - Parameter storage: a storage whose credentials permit reading, writing, listing and deleting below its prefix.
    ///   Its options determine the size from which objects are uploaded in parts.
    public static func s3(_ storage: S3Storage) -> SigningBackend {
        let store = S3Store(storage: storage)
        return SigningBackend(
            signer: store, parts: storage.partLimits == nil ? nil : store, objects: store,
            digests: storage.wantsMD5 ? [.sha256, .md5] : [.sha256],
            partDigests: storage.wantsPartMD5 ? [.sha256, .md5] : [.sha256],
            createsAtomically: storage.createsAtomically, folder: nil)
    }

    /// Returns a backend for a container of Azure Blob Storage. The URLs lead to the container. If the storage's
    /// credentials are tokens, the URLs bind the length, the content and the expiry, and require that the object does
    /// not exist yet. With the account's key, they bind only the object and the expiry. The service then examines the
    /// stored bytes when it confirms or completes an upload.
    ///
    /// - Parameter storage: a storage with a token that may read, write, list, delete and sign, or with the account's
    ///   key. For a token, the role Storage Blob Data Contributor of the account is sufficient. A shared access
    ///   signature cannot sign. The storage's options determine the size from which objects are uploaded in blocks.
    public static func azure(_ storage: AzureStorage) -> SigningBackend {
        let store = AzureStore(storage: storage)
        return SigningBackend(
            signer: store, parts: store, objects: store, digests: [.sha256, .md5], partDigests: [.sha256, .md5],
            createsAtomically: true, folder: nil)
    }

    /// Returns a backend for a folder. The URLs lead to the server itself, which must pass their requests to
    /// ``SigningService/put(_:body:requestID:)`` and ``SigningService/get(_:requestID:)``.
    ///
    /// - Parameters:
    ///   - url: the folder, which is created if it is missing.
    ///   - publicURL: the server's base URL, as devices reach it.
    ///   - secret: the secret that signs the URLs.
    ///   - reserve: the bytes of the disk that uploads leave free, 1 GiB by default. A body that would leave less,
    ///     together with the bodies that are being received, is refused.
    /// - Throws: `StorageError` if the folder cannot be used.
    public static func directory(
        at url: URL, publicURL: URL, secret: SigningSecret, reserve: Int64 = 1 << 30
    ) throws(StorageError) -> SigningBackend {
        let links = FolderLinks(publicURL: publicURL, secret: secret, now: { Date() })
        return directory(try FolderStore(at: url, links, reserve: reserve))
    }

    static func directory(
        at url: URL, publicURL: URL, secret: SigningSecret, parts: FolderPartOptions = FolderPartOptions(),
        now: @escaping @Sendable () -> Date
    ) throws(StorageError) -> SigningBackend {
        let links = FolderLinks(publicURL: publicURL, secret: secret, now: now)
        return directory(try FolderStore(at: url, links, parts: parts))
    }

    static func directory(_ store: FolderStore) -> SigningBackend {
        SigningBackend(
            signer: FolderSigner(links: store.links), parts: store, objects: store, digests: [.sha256],
            partDigests: [.sha256], createsAtomically: true, folder: store)
    }

    /// Returns the signer for one caller.
    ///
    /// - Parameter account: the hash of the caller, which the server's own URLs contain.
    func signer(for account: String) -> any ActionSigner {
        guard let folder else { return signer }
        return FolderSigner(links: folder.links, caller: account)
    }
}
