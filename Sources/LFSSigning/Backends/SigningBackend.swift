public import Foundation
public import LFSAzure
public import LFSS3
public import LFSStorage
import LFSWire

/// The store behind a server: who signs requests to it, who puts parts together, who looks at objects.
public struct SigningBackend: Sendable {
    let signer: any ActionSigner
    /// nil when every object comes with one request.
    let parts: (any PartsKeeper)?
    let objects: any ObjectKeeper
    /// What uploads have to name.
    let digests: [SigningDescription.Digest]
    /// What parts have to name.
    let partDigests: [SigningDescription.Digest]
    /// Whether of several who create an object at the same time one wins.
    let createsAtomically: Bool
    /// The routes for bytes, where the server is the store.
    let folder: FolderStore?

    /// A bucket. The URLs lead to it and bind length, content, time, and that nothing is there yet, where the bucket's
    /// server knows conditions.
    ///
    /// - Parameter storage: with credentials that may do what the service does: read, write, list and delete below its
    ///   prefix. Its options say from which size on objects come in parts.
    public static func s3(_ storage: S3Storage) -> SigningBackend {
        let store = S3Store(storage: storage)
        return SigningBackend(
            signer: store, parts: storage.partLimits == nil ? nil : store, objects: store,
            digests: storage.wantsMD5 ? [.sha256, .md5] : [.sha256],
            partDigests: storage.wantsPartMD5 ? [.sha256, .md5] : [.sha256],
            createsAtomically: storage.createsAtomically, folder: nil)
    }

    /// A container of Azure Blob Storage. The URLs lead to it and bind length, content, time, and that nothing is there
    /// yet, where the storage's credentials are tokens. With the account's key they bind the object and the time only,
    /// and the service looks at what came when it is asked to confirm or to complete.
    ///
    /// - Parameter storage: with a token that may read, write, list and delete, and sign (the role Storage Blob Data
    ///   Contributor of the account has all of it), or with the account's key. A shared access signature cannot sign.
    ///   Its options say from which size on objects come in blocks.
    public static func azure(_ storage: AzureStorage) -> SigningBackend {
        let store = AzureStore(storage: storage)
        return SigningBackend(
            signer: store, parts: store, objects: store, digests: [.sha256, .md5], partDigests: [.sha256, .md5],
            createsAtomically: true, folder: nil)
    }

    /// A folder. The URLs lead to the server itself, which has to hand their requests to
    /// ``SigningService/put(_:body:requestID:)`` and
    /// ``SigningService/get(_:requestID:)``.
    ///
    /// - Parameters:
    ///   - url: the folder, which is made if it is missing.
    ///   - publicURL: where devices reach the server's base URL.
    ///   - secret: what the URLs are signed with.
    ///   - reserve: bytes of the disk that uploads leave free; 1 GiB by default. No body is received that would leave
    ///     less.
    /// - Throws: `StorageError` when the folder cannot be used.
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

    /// The signer for one caller.
    ///
    /// - Parameter account: the hash of the caller, which the server's own URLs hold.
    func signer(for account: String) -> any ActionSigner {
        guard let folder else { return signer }
        return FolderSigner(links: folder.links, caller: account)
    }
}
