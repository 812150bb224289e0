import LFSHTTPStorage
import LFSStorage
import LFSWire

/// An object that a caller is about to upload.
struct UploadOrder: Hashable, Sendable {
    let key: ObjectKey
    let bytes: DeclaredContent
    /// True if an existing object may be replaced.
    let replaces: Bool
}

/// A signer of requests that callers send themselves. Each request is bound to a method, an object, a length, a content
/// and a time.
protocol ActionSigner: Sendable {
    func upload(_ order: UploadOrder, expires: Duration) async throws -> SigningAction
    func part(
        _ number: Int, of ticket: UploadTicket, bytes: DeclaredContent, expires: Duration
    ) async throws -> SigningAction
    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction
}

/// A store that accepts objects in parts.
protocol MultipartStore: Sendable {
    var limits: PartLimits { get }
    /// The size in bytes from which objects are uploaded in parts.
    var threshold: Int64 { get }
    /// The requested size of a part, or nil to derive it from the size of the object.
    var partSize: Int64? { get }
    /// Starts an upload and returns the store's name for it.
    func begin(_ order: UploadOrder) async throws -> String
    /// Returns the stored parts sorted by number, or nil if the store does not know the upload.
    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]?
    /// Joins the parts, if they are the ones that the caller means.
    func complete(_ ticket: UploadTicket, digests: PartsDigests) async throws -> PartsOutcome
    /// Cancels an upload. Succeeds if the upload no longer exists.
    func abort(_ ticket: UploadTicket) async throws
}

/// The result of joining parts.
enum PartsOutcome: Sendable {
    /// The object exists and consists of the parts that the caller means.
    case done
    /// The object exists, but the store reports nothing about the bytes of its parts. The value is the entity tag, if
    /// the store has returned one.
    case unproven(String?)
    /// The store does not know the upload.
    case lost
    /// An object already exists under the key.
    case taken
    /// The joined parts have a different SHA-256 than announced. They were deleted.
    case wrong
}

/// A store that describes objects, and performs operations that callers do not perform themselves.
protocol ObjectStore: Sendable {
    var storage: any RemoteStorage { get }
    /// Compares an object with announced bytes, based on what the store reports.
    ///
    /// - Throws: `StorageError.Code.missing`.
    func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison
    /// Returns an object that was announced as these bytes, if nothing has compared its content with them. Such an
    /// object may be wrong, and would block the correct one. Only reading it shows that. Returns nil for any other
    /// object.
    ///
    /// - Throws: `StorageError.Code.missing`.
    func suspect(_ key: ObjectKey, bytes: DeclaredContent) async throws -> RemoteObject?
    /// Returns the SHA-256 of an object in hex by reading all of it, if it is still this version.
    func sha256(of object: RemoteObject) async throws -> String
    /// Deletes any object under a key.
    func delete(_ key: ObjectKey) async throws
    /// Deletes an object if the store still reports this version.
    func remove(_ object: RemoteObject) async throws
    /// Creates a small object if none exists. Returns false if one exists.
    func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool
}

extension ObjectStore {
    func suspect(_ key: ObjectKey, bytes: DeclaredContent) async throws -> RemoteObject? { nil }

    func sha256(of object: RemoteObject) async throws -> String { try await storage.sha256(of: object) }

    func delete(_ key: ObjectKey) async throws { try await storage.delete(key, abandoning: nil) }
}
