import Foundation
public import LFSStorage

/// A storage that says it has stored a file and has not.
public struct LyingStorage: StorageWrapper {
    public let base: any RemoteStorage

    public init(_ base: any RemoteStorage) {
        self.base = base
    }

    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        session.report(bytesTransferred: source.byteCount)
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256,
            url: URL(fileURLWithPath: "/nowhere").appendingPathComponent(key.rawValue))
    }
}
