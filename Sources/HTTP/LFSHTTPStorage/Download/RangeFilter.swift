package import LFSHTTP
package import LFSStorage
import Synchronization

/// A filter that passes only the requested bytes of a reply to the sink. The server may send another part of the
/// object, or all of it.
package final class RangeFilter: Sendable {
    private struct State {
        /// The offset in the object of the reply's next byte.
        var position: Int64 = 0
        var total: Int64?
        /// The offset in the object at which the reply must end.
        var end: Int64?
        /// True if the reply has another version of the object than requested. Some servers ignore `If-Match`.
        var isOther = false
        /// True if the reply has another part of the object than requested.
        var isOtherRange = false
    }

    private let wanted: Range<Int64>
    private let isRange: Bool
    private let entityTag: EntityTag?
    private let sink: DownloadSink
    private let isOwn: @Sendable (HTTPResponseHead) -> Bool
    private let state = Mutex(State())

    /// - Parameter isOwn: returns true if the storage's server sent the reply, and not a proxy in front of it.
    package init(
        _ request: DownloadRequest, sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) {
        wanted = request.range ?? 0..<Int64.max
        isRange = request.range != nil
        entityTag = request.entityTag.flatMap(EntityTag.init)
        self.sink = sink
        self.isOwn = isOwn
    }

    /// The destination of the reply's bytes, for one request.
    package var reply: ResponseBody {
        .sink({ try self.write($0) }, mayBlock: sink.mayBlock, accept: { self.open($0) })
    }

    /// Examines the head of a reply. Returns true if the body belongs to the object.
    private func open(_ head: HTTPResponseHead) -> Bool {
        guard head.isSuccess, isOwn(head) else { return false }
        return state.withLock { state in
            let tag = head.headers["etag"].flatMap(EntityTag.init)
            if let entityTag, let tag, tag != entityTag {
                state.isOther = true
                return false
            }
            if let tag { sink.begin(entityTag: tag.text) }
            // Some servers send the whole object for a range request, and some answer a range with status 200.
            guard let field = head.headers["content-range"] else {
                guard head.status == 200 else { return false }
                state.total = head.contentLength
                state.end = head.contentLength
                return true
            }
            guard isRange, let range = ContentRange(field), range.first == wanted.lowerBound,
                range.last < wanted.upperBound
            else {
                state.isOtherRange = true
                return false
            }
            state.position = range.first
            state.total = range.total
            state.end = range.last + 1
            return true
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        let start = state.withLock { state in
            defer { state.position += Int64(bytes.count) }
            return state.position
        }
        let part = (start..<start + Int64(bytes.count)).clamped(to: wanted)
        guard !part.isEmpty else { return }
        try sink.write(
            UnsafeRawBufferPointer(rebasing: bytes[Int(part.lowerBound - start)..<Int(part.upperBound - start)]))
    }

    /// Returns the error for a reply that was rejected because of its head, or nil.
    package func refusal(_ key: ObjectKey) -> StorageError? {
        let state = state.withLock { $0 }
        if state.isOther { return .changed(key) }
        return state.isOtherRange
            ? StorageError(.rangeRefused, message: "The server sent another range than was requested.", key: key) : nil
    }

    /// Returns the size of the whole object, after all announced bytes have arrived.
    package func finish(_ key: ObjectKey) throws(StorageError) -> Int64 {
        if let refusal = refusal(key) { throw refusal }
        let state = state.withLock { $0 }
        guard let total = state.total, let end = state.end else {
            throw StorageError(.serverError, message: "The server's reply to a download is not the object.", key: key)
        }
        guard state.position == end else {
            throw StorageError(.serverError, message: "The server sent \(state.position) of \(end) bytes.", key: key)
        }
        return total
    }
}
