public import LFSStorage

/// A storage that keeps only the beginning of a file and claims to have all of it, as a server does that answers before
/// the body has come.
public struct TruncatingStorage: StorageWrapper {
    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let lostBytes: Int

    /// - Parameter lostBytes: how many bytes are lost from the end of each file.
    public init(_ base: any RemoteStorage, lostBytes: Int = 1) {
        self.base = base
        self.lostBytes = lostBytes
    }

    /// Passes the call on with the fault that the type is named after.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        let rest = try UploadSource.temporary(source.contents().dropLast(lostBytes))
        var object = try await base.upload(rest, to: key, session: session)
        object.byteCount = source.byteCount
        object.sha256 = source.sha256
        return object
    }
}
