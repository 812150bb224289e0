import Foundation
public import LFSStorage

/// A storage that says it has stored a file and has not.
public struct LyingStorage: StorageWrapper {
    /// The storage below, which is sound.
    public let base: any RemoteStorage

    /// Puts the fault before a sound storage.
    public init(_ base: any RemoteStorage) {
        self.base = base
    }

    /// Passes the call on with the fault that the type is named after.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        session.report(bytesTransferred: source.byteCount)
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256,
            url: URL(fileURLWithPath: "/nowhere").appendingPathComponent(key.rawValue))
    }
}
