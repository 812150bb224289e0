public import Foundation

/// What a storage needs to go on with an upload after the process has ended; its format is the storage's own.
///
/// It is kept in the app's database, so it must not hold a secret.
public struct UploadCheckpoint: RawRepresentable, Hashable, Sendable {
    /// The bytes, in the storage's own format.
    public let rawValue: Data
    /// A checkpoint from its bytes.
    public init(rawValue: Data) { self.rawValue = rawValue }
}

/// An upload that waits for its turn.
public struct UpcomingUpload: Hashable, Sendable {
    /// Where the object will go.
    public let key: ObjectKey
    /// The size in bytes.
    public let byteCount: Int64
    /// SHA-256 of the whole content, 64 lowercase hex digits.
    public let sha256: String
    /// A media type, if one is known.
    public let contentType: String?

    /// One that waits, for tests of a storage.
    public init(key: ObjectKey, byteCount: Int64, sha256: String, contentType: String? = nil) {
        self.key = key
        self.byteCount = byteCount
        self.sha256 = sha256
        self.contentType = contentType
    }
}

/// One try to upload: what the last try left, and whom to tell how this one goes.
public struct UploadSession: Sendable {
    /// What the last try saved, nil for a fresh start.
    public let checkpoint: UploadCheckpoint?
    /// Whether what is under the key is known or suspected to be damaged: every byte is sent then, whatever the storage
    /// says of the object that is there.
    public let replacesObject: Bool
    private let next: @Sendable (_ limit: Int) -> [UpcomingUpload]
    private let onProgress: @Sendable (Int64) -> Void
    private let onSave: @Sendable (UploadCheckpoint) async throws -> Void

    /// A session for one try. Tests of a storage make one; the transfer queue makes those of an app.
    ///
    /// - Parameters:
    ///   - checkpoint: what the last try saved; nil for a fresh start.
    ///   - replacesObject: see ``replacesObject``.
    ///   - onProgress: takes the number of bytes that the storage has so far.
    ///   - onSave: makes a checkpoint durable.
    ///   - upcoming: see ``upcoming(limit:)``.
    public init(
        checkpoint: UploadCheckpoint? = nil, replacesObject: Bool = false,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        onSave: @escaping @Sendable (UploadCheckpoint) async throws -> Void = { _ in },
        upcoming: @escaping @Sendable (_ limit: Int) -> [UpcomingUpload] = { _ in [] }
    ) {
        self.checkpoint = checkpoint
        self.replacesObject = replacesObject
        next = upcoming
        self.onProgress = onProgress
        self.onSave = onSave
    }

    /// The uploads that will probably come next, for a storage that has to prepare each: asking a server for their
    /// signatures together, perhaps. They may also never come, or come as something else.
    public func upcoming(limit: Int) -> [UpcomingUpload] { next(limit) }

    /// Tells how many bytes of the whole the storage has so far. Cheap enough to call for every buffer.
    public func report(bytesTransferred: Int64) { onProgress(bytesTransferred) }

    /// Returns when the checkpoint is durable. What it promises must have happened before.
    ///
    /// - Throws: when it could not be made durable; the upload ends with that error then.
    public func save(_ checkpoint: UploadCheckpoint) async throws { try await onSave(checkpoint) }
}
