import LFSHTTPStorage
import LFSStorage
import LFSWire

/// An object that a caller is about to upload.
struct UploadOrder: Hashable, Sendable {
    let key: ObjectKey
    let bytes: AnnouncedBytes
    /// Whether there may be one already.
    let replaces: Bool
}

/// Signs requests that the caller sends itself. Each is bound to method, object, length, content and time.
protocol ActionSigner: Sendable {
    func upload(_ order: UploadOrder, expires: Duration) async throws -> SigningAction
    func part(
        _ number: Int, of ticket: UploadTicket, _ bytes: AnnouncedBytes, expires: Duration
    ) async throws -> SigningAction
    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction
}

/// Takes objects in parts.
protocol PartsKeeper: Sendable {
    var limits: PartLimits { get }
    /// Objects from this size on come in parts.
    var threshold: Int64 { get }
    /// The size of a part that is asked for; nil lets the size of the object decide.
    var partSize: Int64? { get }
    /// Begins, and returns the store's name for the upload.
    func begin(_ order: UploadOrder) async throws -> String
    /// The parts that are there, in the order of their numbers; nil when the store does not know the upload.
    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]?
    /// Puts them together, if they are the ones that the caller means.
    func complete(_ ticket: UploadTicket, _ digests: PartsDigests) async throws -> PartsOutcome
    /// Gives up. What is not there any more is given up already.
    func abort(_ ticket: UploadTicket) async throws
}

/// How putting parts together ended.
enum PartsOutcome: Sendable {
    /// The object is there and made of the parts that the caller means.
    case done
    /// It is there, and the store says nothing of the parts' bytes. Its entity tag, as far as the store has told it.
    case unproven(String?)
    /// The store does not know the upload.
    case lost
    /// Something is under the key already.
    case taken
    /// The parts together have another SHA-256 than was announced. They were dropped.
    case wrong
}

/// Looks at objects, and does what no caller does itself.
protocol ObjectKeeper: Sendable {
    var storage: any RemoteStorage { get }
    /// Compares an object with bytes that are not here, by the store's own word.
    ///
    /// - Throws: `StorageError.Code.missing`.
    func compare(_ key: ObjectKey, with bytes: AnnouncedBytes) async throws -> ObjectComparison
    /// The SHA-256 of an object in hex, by reading all of it, if it still is this one.
    func sha256(of object: RemoteObject) async throws -> String
    /// Removes whatever is under a key.
    func delete(_ key: ObjectKey) async throws
    /// Removes an object if it still is this one, as far as the store can tell.
    func remove(_ object: RemoteObject) async throws
    /// Makes an object of a few bytes if there is none. False when there is one.
    func create(_ key: ObjectKey, _ bytes: [UInt8]) async throws -> Bool
}

extension ObjectKeeper {
    func sha256(of object: RemoteObject) async throws -> String { try await storage.sha256(of: object) }

    func delete(_ key: ObjectKey) async throws { try await storage.delete(key, abandoning: nil) }
}
