public import LFSStorage
import Synchronization

/// A storage whose calls break off after some bytes, like a lost connection. It records the downloads.
public final class CuttingStorage: StorageWrapper {
    private struct State {
        var requests: [DownloadRequest] = []
        var sentBytes: Int64 = 0
        var cutsLeft: Int
    }

    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
    private let byteCount: Int64
    private let tellsVersion: Bool
    private let onAttempt: @Sendable (Int) async throws -> Void
    private let state: Mutex<State>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the calls that break off. Only uploads and downloads have bytes. An upload that breaks off
    ///     stores nothing.
    ///   - byteCount: the number of bytes that are transferred before the break.
    ///   - times: the number of calls that break off. Later calls complete and are only counted.
    ///   - tellsVersion: true if downloads report the entity tag.
    ///   - onAttempt: called before each download, with its number from 1 on.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = [.download], after byteCount: Int64,
        times: Int = .max, tellsVersion: Bool = true,
        onAttempt: @escaping @Sendable (Int) async throws -> Void = { _ in }
    ) {
        self.base = base
        self.operations = operations
        self.byteCount = byteCount
        self.tellsVersion = tellsVersion
        self.onAttempt = onAttempt
        state = Mutex(State(cutsLeft: times))
    }

    /// The downloads so far, in order.
    package var requests: [DownloadRequest] { state.withLock { $0.requests } }
    /// The number of bytes that all downloads have written to their sinks.
    package var sentBytes: Int64 { state.withLock { $0.sentBytes } }

    /// Breaks off after some bytes, if a break is due and the file is longer. Nothing is stored then.
    ///
    /// - Throws: `StorageError.Code.timeout` when the connection breaks, and errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        guard source.byteCount > byteCount, isCut(.upload) else {
            return try await base.upload(source, to: key, session: session)
        }
        session.report(bytesTransferred: byteCount)
        throw Self.brokenOff(key)
    }

    /// Breaks off after some bytes, if a break is due. Each download is recorded.
    ///
    /// - Throws: `StorageError.Code.timeout` when the connection breaks, and errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let attempt = state.withLock { state in
            state.requests.append(request)
            return state.requests.count
        }
        try await onAttempt(attempt)
        let passed = Mutex<Int64>(0)
        let limit = isCut(.download) ? byteCount : .max
        let tellsVersion = tellsVersion
        let cutting = DownloadSink {
            if tellsVersion { sink.begin(entityTag: $0) }
        } _: { bytes in
            let room = passed.withLock { limit - $0 }
            let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(min(room, Int64(bytes.count)))))
            try sink.write(piece)
            passed.withLock { $0 += Int64(piece.count) }
            self.state.withLock { $0.sentBytes += Int64(piece.count) }
            if piece.count < bytes.count { throw Self.brokenOff(request.key) }
        }
        var object = try await base.download(request, into: cutting)
        if !tellsVersion { object.entityTag = nil }
        return object
    }

    private func isCut(_ operation: StorageOperation) -> Bool {
        guard operations.contains(operation) else { return false }
        return state.withLock { state in
            defer { state.cutsLeft = max(state.cutsLeft - 1, 0) }
            return state.cutsLeft > 0
        }
    }

    private static func brokenOff(_ key: ObjectKey) -> StorageError {
        StorageError(.timeout, message: "The connection was interrupted.", key: key)
    }
}
