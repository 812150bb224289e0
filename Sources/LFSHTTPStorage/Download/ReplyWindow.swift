package import LFSHTTP
package import LFSStorage
import Synchronization

/// Passes on the bytes of a reply that were asked for, also when the server sends another part of the object, or all of
/// it.
package final class ReplyWindow: Sendable {
    private struct State {
        /// Where in the object the next byte of the reply stands.
        var position: Int64 = 0
        var total: Int64?
        /// Where the reply has to end.
        var end: Int64?
        /// Whether the reply has another version of the object than was asked for. Some servers ignore `If-Match`.
        var isOther = false
        /// Whether the reply has another part of the object than was asked for.
        var isOtherRange = false
    }

    private let wanted: Range<Int64>
    private let isRange: Bool
    private let entityTag: EntityTag?
    private let sink: DownloadSink
    private let isOwn: @Sendable (HTTPResponseHead) -> Bool
    private let state = Mutex(State())

    /// - Parameter isOwn: whether the storage's server has answered, and not something before it.
    package init(
        _ request: DownloadRequest, _ sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) {
        wanted = request.range ?? 0..<Int64.max
        isRange = request.range != nil
        entityTag = request.entityTag.flatMap(EntityTag.init)
        self.sink = sink
        self.isOwn = isOwn
    }

    /// Where the request's reply has to go. It is for one request.
    package var reply: ResponseBody {
        .sink({ try self.write($0) }, mayBlock: sink.mayBlock, accept: { self.open($0) })
    }

    /// Looks at the head of a reply. Returns whether its body is the object's.
    private func open(_ head: HTTPResponseHead) -> Bool {
        guard head.isSuccess, isOwn(head) else { return false }
        return state.withLock { state in
            let tag = head.headers["etag"].flatMap(EntityTag.init)
            if let entityTag, let tag, tag != entityTag {
                state.isOther = true
                return false
            }
            if let tag { sink.begin(entityTag: tag.text) }
            // Some servers send everything when they are asked for a range, and some call a range 200.
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

    /// Why the reply was not taken, if that shows in its head.
    package func refusal(_ key: ObjectKey) -> StorageError? {
        let state = state.withLock { $0 }
        if state.isOther { return .changed(key) }
        return state.isOtherRange
            ? StorageError(.rangeRefused, "The server sent another part than was asked for.", key: key) : nil
    }

    /// The whole object's size, after everything that was announced has come.
    package func finish(_ key: ObjectKey) throws(StorageError) -> Int64 {
        if let refusal = refusal(key) { throw refusal }
        let state = state.withLock { $0 }
        guard let total = state.total, let end = state.end else {
            throw StorageError(.serverError, "The server's answer to a download is not the object.", key: key)
        }
        guard state.position == end else {
            throw StorageError(.serverError, "The server sent \(state.position) of \(end) bytes.", key: key)
        }
        return total
    }
}
