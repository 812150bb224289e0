import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

/// Fetches an object or a range of it ("GetObject" of the Amazon S3 API reference).
struct ObjectDownload: Sendable {
    private let client: S3Client
    private let request: DownloadRequest

    init(client: S3Client, _ request: DownloadRequest) {
        self.client = client
        self.request = request
    }

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        // HTTP has no way to ask for no bytes.
        if let range = request.range, range.isEmpty { return try await describe() }
        var get = S3Request(.get, request.key)
        if let range = request.range {
            try get.headers.set("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
        }
        if let tag = request.entityTag.flatMap(EntityTag.init) { try get.headers.set("if-match", tag.quoted) }
        try get.headers.set("x-amz-checksum-mode", "ENABLED")
        let window = ReplyWindow(request, sink)
        get.reply = .sink({ try window.write($0) }, accept: { head in window.open(head) })
        let response: HTTPResponse
        do {
            response = try await client.send(get)
        } catch let failure as S3Failure where failure.status == 416 && request.range != nil {
            // It begins behind the end: no bytes, but the object is there.
            return try await describe()
        } catch {
            // A reply that was not taken may have been too long to be read at all; why it was not taken says more.
            throw window.refusal(request.key) ?? error
        }
        let total = try window.finish(response, request.key)
        return StoredObject(response.head, byteCount: total).remoteObject(request.key, at: client.place)
    }

    private func describe() async throws -> RemoteObject {
        let object = try await client.described(request.key).remoteObject(request.key, at: client.place)
        guard let tag = request.entityTag.flatMap(EntityTag.init), object.entityTag != tag.text else { return object }
        throw StorageError.changed(request.key)
    }
}

/// Lets those bytes of a reply through that were asked for, whatever part of the object the server sends.
///
/// Owner of its state: the mutex.
private final class ReplyWindow: Sendable {
    private struct State {
        /// Where in the object the next byte of the reply stands.
        var position: Int64 = 0
        var total: Int64?
        /// Where the reply has to end.
        var end: Int64?
        /// Whether it is another version than the one that was asked for: not all servers heed the condition.
        var isOther = false
        /// Whether it is another part than the one that was asked for.
        var isOtherRange = false
    }

    private let wanted: Range<Int64>
    private let isRange: Bool
    private let entityTag: EntityTag?
    private let sink: DownloadSink
    private let state = Mutex(State())

    init(_ request: DownloadRequest, _ sink: DownloadSink) {
        wanted = request.range ?? 0..<Int64.max
        isRange = request.range != nil
        entityTag = request.entityTag.flatMap(EntityTag.init)
        self.sink = sink
    }

    /// Looks at the head of a reply. Returns whether its body is the object's.
    func open(_ head: HTTPResponseHead) -> Bool {
        state.withLock { state in
            guard head.isSuccess, head.isFromS3 else { return false }
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

    func write(_ bytes: UnsafeRawBufferPointer) throws {
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
    func refusal(_ key: ObjectKey) -> StorageError? {
        let state = state.withLock { $0 }
        if state.isOther { return .changed(key) }
        return state.isOtherRange
            ? StorageError(.rangeRefused, "The server sent another part than was asked for.", key: key) : nil
    }

    /// The whole object's size, after everything that was announced has come.
    func finish(_ response: HTTPResponse, _ key: ObjectKey) throws(StorageError) -> Int64 {
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

/// `bytes 0-9/100` (RFC 9110, 14.4).
struct ContentRange: Hashable, Sendable {
    let first: Int64
    let last: Int64
    let total: Int64

    /// nil for anything else, an unknown total included.
    init?(_ field: String) {
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/")
        let ends = halves.first?.split(separator: "-") ?? []
        guard halves.count == 2, ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]),
            let total = Int64(halves[1]), first <= last, last < total
        else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }
}
