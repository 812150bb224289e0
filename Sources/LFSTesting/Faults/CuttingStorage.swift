public import LFSStorage
import Synchronization

/// A storage whose downloads break off after some bytes, as a connection does, and which remembers what it was asked
/// for.
public final class CuttingStorage: StorageWrapper {
    private struct State {
        var requests: [DownloadRequest] = []
        var sentBytes: Int64 = 0
        var cutsLeft: Int
    }

    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let byteCount: Int64
    private let tellsVersion: Bool
    private let onAttempt: @Sendable (Int) async throws -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - byteCount: how many bytes of a download pass.
    ///   - times: how many downloads break off; the others pass whole and are counted only.
    ///   - tellsVersion: whether the entity tag passes.
    ///   - onAttempt: is called before each download, with its number from 1 on.
    public init(
        _ base: any RemoteStorage, after byteCount: Int64, times: Int = .max, tellsVersion: Bool = true,
        onAttempt: @escaping @Sendable (Int) async throws -> Void = { _ in }
    ) {
        self.base = base
        self.byteCount = byteCount
        self.tellsVersion = tellsVersion
        self.onAttempt = onAttempt
        state = Mutex(State(cutsLeft: times))
    }

    /// What was asked for so far, in order.
    public var requests: [DownloadRequest] { state.withLock { $0.requests } }
    /// The bytes of all downloads that went to their sinks.
    public var sentBytes: Int64 { state.withLock { $0.sentBytes } }

    /// Passes the call on with the fault that the type is named after.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let attempt = state.withLock { state in
            state.requests.append(request)
            return state.requests.count
        }
        try await onAttempt(attempt)
        let isCut = state.withLock { state in
            defer { state.cutsLeft = max(state.cutsLeft - 1, 0) }
            return state.cutsLeft > 0
        }
        let passed = Mutex<Int64>(0)
        let limit = isCut ? byteCount : .max
        let tellsVersion = tellsVersion
        let cutting = DownloadSink {
            if tellsVersion { sink.begin(entityTag: $0) }
        } _: { bytes in
            let room = passed.withLock { limit - $0 }
            let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(min(room, Int64(bytes.count)))))
            try sink.write(piece)
            passed.withLock { $0 += Int64(piece.count) }
            self.state.withLock { $0.sentBytes += Int64(piece.count) }
            if piece.count < bytes.count { throw StorageError(.timeout, "The connection broke off.") }
        }
        var object = try await base.download(request, into: cutting)
        if !tellsVersion { object.entityTag = nil }
        return object
    }
}
