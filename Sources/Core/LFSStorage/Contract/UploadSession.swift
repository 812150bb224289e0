public import Foundation

/// The data with which a storage resumes an upload after the process has ended. Its format is defined by the storage.
///
/// The app's database stores it, so it must not contain a secret.
public struct UploadCheckpoint: RawRepresentable, Hashable, Sendable {
    /// The bytes in the storage's own format.
    public let rawValue: Data
    /// Creates a checkpoint from its bytes.
    public init(rawValue: Data) { self.rawValue = rawValue }
}

/// An upload that waits for its start.
package struct UpcomingUpload: Hashable, Sendable {
    /// The key of the future object.
    package let key: ObjectKey
    /// The size in bytes.
    package let byteCount: Int64
    /// SHA-256 of the whole content, 64 lowercase hex digits.
    package let sha256: String
    /// A media type, if one is known.
    package let contentType: String?

    /// Creates a waiting upload, for tests of a storage.
    package init(key: ObjectKey, byteCount: Int64, sha256: String, contentType: String? = nil) {
        self.key = key
        self.byteCount = byteCount
        self.sha256 = sha256
        self.contentType = contentType
    }
}

/// An attempt to upload: the checkpoint of the previous attempt, and the receivers of progress and checkpoints.
public struct UploadSession: Sendable {
    /// The checkpoint that the previous attempt saved, or nil for a first attempt.
    public let checkpoint: UploadCheckpoint?
    /// True if the object under the key is known or suspected to be damaged. Then every byte is uploaded again,
    /// whatever the storage reports about the existing object.
    public let replacesObject: Bool
    private let next: @Sendable (_ limit: Int) -> [UpcomingUpload]
    private let onProgress: @Sendable (Int64) -> Void
    private let onSave: @Sendable (UploadCheckpoint) async throws -> Void

    /// Creates a session for one attempt. Tests of a storage create it directly, and the transfer queue does in an app.
    ///
    /// - Parameters:
    ///   - checkpoint: the checkpoint that the previous attempt saved, or nil for a first attempt.
    ///   - replacesObject: see ``replacesObject``.
    ///   - onProgress: receives the number of bytes that the storage has so far.
    ///   - onSave: makes a checkpoint durable.
    public init(
        checkpoint: UploadCheckpoint? = nil, replacesObject: Bool = false,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        onSave: @escaping @Sendable (UploadCheckpoint) async throws -> Void = { _ in }
    ) {
        self.init(
            checkpoint: checkpoint, replacesObject: replacesObject, onProgress: onProgress, onSave: onSave,
            upcoming: { _ in [] })
    }

    /// Creates a session that knows the next uploads.
    ///
    /// - Parameter upcoming: see ``upcoming(limit:)``.
    package init(
        checkpoint: UploadCheckpoint? = nil, replacesObject: Bool = false,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        onSave: @escaping @Sendable (UploadCheckpoint) async throws -> Void = { _ in },
        upcoming: @escaping @Sendable (_ limit: Int) -> [UpcomingUpload]
    ) {
        self.checkpoint = checkpoint
        self.replacesObject = replacesObject
        next = upcoming
        self.onProgress = onProgress
        self.onSave = onSave
    }

    /// Returns the uploads that will probably follow. A storage can prepare them together, for example by requesting
    /// all their signatures from a server at once. The uploads may also not follow, or follow in another form.
    package func upcoming(limit: Int) -> [UpcomingUpload] { next(limit) }

    /// Reports the total number of bytes that the storage has so far. The call is cheap enough for every buffer.
    public func report(bytesTransferred: Int64) { onProgress(bytesTransferred) }

    /// Makes a checkpoint durable and returns. The storage must already have completed the work that the checkpoint
    /// describes.
    ///
    /// - Throws: an error if the checkpoint could not be made durable. The upload then ends with that error.
    public func save(_ checkpoint: UploadCheckpoint) async throws { try await onSave(checkpoint) }
}
