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

/// One try to upload: what the last try left, and whom to tell how this one goes.
public struct UploadSession: Sendable {
    /// What the last try saved, nil for a fresh start.
    public let checkpoint: UploadCheckpoint?
    /// Whether what is under the key is known or suspected to be damaged: every byte is sent then, whatever the storage
    /// says of the object that is there.
    public let replacesObject: Bool
    private let onProgress: @Sendable (Int64) -> Void
    private let onSave: @Sendable (UploadCheckpoint) async throws -> Void

    /// A session for one try. Tests of a storage make one; the transfer queue makes those of an app.
    ///
    /// - Parameters:
    ///   - checkpoint: what the last try saved; nil for a fresh start.
    ///   - replacesObject: see ``replacesObject``.
    ///   - onProgress: takes the number of bytes that the storage has so far.
    ///   - onSave: makes a checkpoint durable.
    public init(
        checkpoint: UploadCheckpoint? = nil, replacesObject: Bool = false,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        onSave: @escaping @Sendable (UploadCheckpoint) async throws -> Void = { _ in }
    ) {
        self.checkpoint = checkpoint
        self.replacesObject = replacesObject
        self.onProgress = onProgress
        self.onSave = onSave
    }

    /// Tells how many bytes of the whole the storage has so far. Cheap enough to call for every buffer.
    public func report(bytesTransferred: Int64) { onProgress(bytesTransferred) }

    /// Returns when the checkpoint is durable. What it promises must have happened before.
    ///
    /// - Throws: when it could not be made durable; the upload ends with that error then.
    public func save(_ checkpoint: UploadCheckpoint) async throws { try await onSave(checkpoint) }
}
