import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire
import Synchronization
import TestSupport

@testable import LFSSignedURL

/// A signing server at `https://app` and its store at `https://store`, both in memory. A script can answer a request.
/// Otherwise they follow the protocol. The mutex owns the state.
final class FakeSigner: HTTPTransport {
    typealias Script = @Sendable (HTTPRequest, FakeSigner) throws -> HTTPResponse?

    /// The request that a signature allows.
    struct Grant: Sendable {
        var method: String
        var key: String
        var sha256: String?
        var isNew = false
        var upload: String?
        var number: Int64 = 0
        var end: Duration
    }

    struct Upload: Sendable {
        var key: String
        var size: Int64
        var sha256: String
        var replaces: Bool
        var parts: [Int64: [UInt8]] = [:]
    }

    struct State: Sendable {
        var objects: [String: [UInt8]] = [:]
        var uploads: [String: Upload] = [:]
        var grants: [String: Grant] = [:]
        var requests: [HTTPRequest] = []
        var asked: [(operation: SigningOperation, count: Int)] = []
        var tokens: Set<String> = [Canary.token]
        var description = SigningDescription(digests: [.sha256], largestBatch: 100)
        var partSize: Int64 = 1 << 20
        var expiresIn: Int64 = 900
        var proves = true
        /// Indicates that parts have only tags, which look like MD5s but are not.
        var hasOddTags = false
        /// The header of the store's reply that proves the bytes.
        var proof = "x-amz-checksum-sha256"
        /// The number of times the server replies that it is still joining parts or reading.
        var goesOn = 0
        var number = 0
    }

    let clock: ManualClock?
    private let elapsed: Elapsed
    private let script: Script
    let state = Mutex(State())

    /// - Parameter clock: the clock of signatures and batches. Nil selects the real one.
    init(clock: ManualClock? = nil, _ script: @escaping Script = { _, _ in nil }) {
        self.clock = clock
        elapsed = Elapsed(clock ?? ContinuousClock())
        self.script = script
    }

    var objects: [String: [UInt8]] { state.withLock { $0.objects } }
    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// Returns the number of objects in each request of an operation.
    func asked(_ operation: SigningOperation) -> [Int] {
        state.withLock { $0.asked.filter { $0.operation == operation }.map(\.count) }
    }

    /// Makes the server require parts for objects from a size on.
    func cut(from threshold: Int64, partSize: Int64 = 1 << 20) {
        state.withLock { state in
            state.description.parts = .init(threshold: threshold, smallest: 1, largest: 1 << 30, count: 1_000)
            state.partSize = partSize
        }
    }

    func storage(
        authorization: SigningAuthorization = .bearer { _ in Canary.token },
        _ change: (inout SignedURLOptions) -> Void = { _ in }
    ) throws -> SignedURLStorage {
        var options = SignedURLOptions()
        options.transport = self
        if let clock { options.clock = clock }
        change(&options)
        return try SignedURLStorage(
            server: URL(string: "https://app/lfs").unsafelyUnwrapped, authorization: authorization, options: options)
    }

    // MARK: HTTPTransport

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        state.withLock { $0.requests.append(request) }
        let body = try Self.bytes(of: request.body)
        var response = try script(request, self) ?? answer(request, body)
        response.bytesSent = Int64(body.count)
        request.onProgress?(Int64(body.count))
        if case .sink(let sink, _, let accept) = request.reply, accept(response.head) {
            for start in stride(from: 0, to: response.body.count, by: 1_000) {
                try response.body[start..<min(start + 1_000, response.body.count)].withUnsafeBytes { try sink($0) }
            }
            response.body = []
        }
        return response
    }

    func shutdown() async {}

    static func bytes(of body: RequestBody) throws -> [UInt8] {
        switch body {
        case .none: return []
        case .bytes(let bytes): return bytes
        case .reading(let range, let read):
            var bytes = [UInt8](repeating: 0, count: range.count)
            var count = 0
            while count < bytes.count {
                let more = try bytes.withUnsafeMutableBytes { buffer in
                    try read(UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), range.lowerBound + Int64(count))
                }
                if more == 0 { break }
                count += more
            }
            return bytes
        }
    }

    func answer(_ request: HTTPRequest, _ body: [UInt8]) throws -> HTTPResponse {
        if request.origin.host == "store" { return store(request, body) }
        let token = request.headers["authorization"]?.replacing("Bearer ", with: "") ?? ""
        guard state.withLock({ $0.tokens.contains(token) }) else {
            return try Self.json(SigningRefusal(WireFailure(.unauthorized, message: "Not \(token).")), status: 401)
        }
        if request.method == .get { return try Self.json(state.withLock { $0.description }) }
        let message = try WireFormat.decode(SigningRequest.self, from: Data(body), limits: .request)
        let answers = try state.withLock { state in
            state.asked.append((message.operation, message.objects.count))
            return try message.objects.map { try self.answer(message.operation, object: $0.get(), state: &state) }
        }
        return try Self.json(SigningReplyBody(answers))
    }

    /// Returns the protocol's answers to a request, for a script to modify.
    func answers(to request: HTTPRequest) throws -> [[String: Any]]? {
        let reply = try answer(request, Self.bytes(of: request.body))
        let message = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
        return message?["objects"] as? [[String: Any]]
    }

    static func json(_ message: some Encodable, status: Int = 200) throws -> HTTPResponse {
        HTTPResponse(
            head: HTTPResponseHead(status: status, headers: ["content-type": "application/json"]),
            body: Array(try WireFormat.encode(message)))
    }

    static func reply(_ status: Int, text: String = "", headers: HTTPHeaders = [:]) -> HTTPResponse {
        HTTPResponse(head: HTTPResponseHead(status: status, headers: headers), body: Array(text.utf8))
    }

    // MARK: The signing server

    private func answer(
        _ operation: SigningOperation, object: SigningObject, state: inout State
    ) throws -> SigningAnswer {
        let key = object.key ?? ""
        switch operation {
        case .upload:
            let (size, sha256) = (object.size ?? -1, object.sha256 ?? "")
            if let parts = state.description.parts, size >= parts.threshold {
                state.number += 1
                let token = "upload-\(state.number)"
                state.uploads[token] = Upload(key: key, size: size, sha256: sha256, replaces: object.replace == true)
                return .parts(.init(upload: token, partSize: state.partSize))
            }
            return action(
                .upload,
                grant: Grant(method: "PUT", key: key, sha256: sha256, isNew: object.replace != true, end: end(state)),
                state: &state)
        case .parts:
            guard let token = object.upload, let upload = state.uploads[token] else { return Self.lost }
            return action(
                .parts,
                grant: Grant(
                    method: "PUT", key: upload.key, sha256: object.sha256, upload: token, number: object.number ?? 0,
                    end: end(state)), state: &state)
        case .state:
            guard let upload = state.uploads[object.upload ?? ""] else { return Self.lost }
            let odd = state.hasOddTags
            return .present(
                upload.parts.sorted { $0.key < $1.key }.map { number, bytes in
                    let sha256 = SampleBytes.sha256(bytes)
                    let size = Int64(bytes.count)
                    return odd
                        ? .init(number: number, size: size, md5: String(sha256.prefix(32)))
                        : .init(number: number, size: size, sha256: sha256)
                })
        case .complete:
            if let goesOn = goesOn(&state) { return goesOn }
            return complete(object, state: &state)
        case .abort:
            state.uploads[object.upload ?? ""] = nil
            return .done
        case .download: return action(.download, grant: Grant(method: "GET", key: key, end: end(state)), state: &state)
        case .head:
            return state.objects[key].map { .object(Self.described(key, bytes: $0)) }
                ?? .refused(WireFailure(.missing, message: "Nothing."))
        case .confirm:
            if let goesOn = goesOn(&state) { return goesOn }
            guard let bytes = state.objects[key] else { return .refused(WireFailure(.missing, message: "Nothing.")) }
            let found = Self.described(key, bytes: bytes)
            return found.sha256 == object.sha256
                ? .object(found) : .refused(WireFailure(.integrity, message: "Another."))
        case .delete:
            if let token = object.upload {
                guard state.uploads.removeValue(forKey: token) != nil else { return Self.lost }
            }
            state.objects[key] = nil
            return .done
        case .list:
            let names = state.objects.keys.filter { $0.hasPrefix(object.prefix ?? "") }.sorted()
            let rest = names.filter { $0 > object.continuation ?? "" }
            let page = rest.prefix(Int(object.limit ?? 1_000))
            return SigningAnswer.page(
                page.map { Self.described($0, bytes: state.objects[$0] ?? []) },
                next: page.count < rest.count ? page.last : nil)
        }
    }

    private func goesOn(_ state: inout State) -> SigningAnswer? {
        guard state.goesOn > 0 else { return nil }
        state.goesOn -= 1
        return .refused(WireFailure(.inProgress, message: "Ask again.", retryAfter: 5))
    }

    private static let lost = SigningAnswer.refused(WireFailure(.lostUpload, message: "Not known."))

    private func complete(_ object: SigningObject, state: inout State) -> SigningAnswer {
        guard let token = object.upload, let upload = state.uploads[token] else { return Self.lost }
        let parts = upload.parts.sorted { $0.key < $1.key }.map(\.value)
        var digest = SHA256()
        for part in parts { digest.update(data: Hex.bytes(SampleBytes.sha256(part)) ?? []) }
        guard Hex.text(digest.finalize()) == object.partsSHA256 else {
            return .refused(WireFailure(.incomplete, message: "A part is missing."))
        }
        let bytes = parts.reduce(into: [UInt8]()) { $0 += $1 }
        if state.hasOddTags, object.partsMD5 != nil {
            return .refused(WireFailure(.incomplete, message: "Another part."))
        }
        guard SampleBytes.sha256(bytes) == upload.sha256 else {
            return .refused(WireFailure(.integrity, message: "Another."))
        }
        if !upload.replaces, let there = state.objects[upload.key], there != bytes {
            return .refused(WireFailure(.integrity, message: "Another."))
        }
        state.uploads[token] = nil
        state.objects[upload.key] = bytes
        return .object(Self.described(upload.key, bytes: bytes))
    }

    private func end(_ state: State) -> Duration { elapsed.now + .seconds(state.expiresIn) }

    private func action(_ operation: SigningOperation, grant: Grant, state: inout State) -> SigningAnswer {
        state.number += 1
        let signature = "\(Canary.signature)\(state.number)"
        state.grants[signature] = grant
        var action = SigningAction(
            method: grant.method, href: "https://store/bucket/\(grant.key)?X-Amz-Signature=\(signature)",
            expiresIn: state.expiresIn)
        if let sha256 = grant.sha256 {
            action.header = ["x-amz-checksum-sha256": sha256, "x-amz-meta-secret": Canary.field]
            if state.proves { action.proof = .init(header: state.proof, value: sha256) }
        }
        return .action(action, for: operation)
    }

    static func described(_ key: String, bytes: [UInt8]) -> SigningAnswer.Object {
        let sha256 = SampleBytes.sha256(bytes)
        return .init(key: key, size: Int64(bytes.count), sha256: sha256, entityTag: String(sha256.prefix(16)))
    }

    // MARK: The store

    private func store(_ request: HTTPRequest, _ body: [UInt8]) -> HTTPResponse {
        let signature = request.target.split(separator: "=").last.map(String.init) ?? ""
        let now = elapsed.now
        return state.withLock { state in
            guard let grant = state.grants[signature], grant.end > now, grant.method == request.method.rawValue,
                grant.sha256 == request.headers["x-amz-checksum-sha256"]
            else { return Self.reply(403, text: "<Code>SignatureDoesNotMatch</Code> \(signature)") }
            guard request.method == .put else { return Self.object(request, bytes: state.objects[grant.key]) }
            let sha256 = SampleBytes.sha256(body)
            guard sha256 == grant.sha256 else { return Self.reply(400, text: "<Code>BadDigest</Code>") }
            let etag = String(sha256.prefix(16))
            let taken = Self.reply(200, text: "", headers: ["etag": "\"\(etag)\""])
            var proven = taken
            proven.head.headers.append(received: "x-amz-checksum-sha256", sha256)
            if let upload = grant.upload {
                guard state.uploads[upload] != nil else { return Self.reply(404) }
                state.uploads[upload]?.parts[grant.number] = body
            } else {
                if grant.isNew, state.objects[grant.key] != nil { return Self.reply(412) }
                state.objects[grant.key] = body
            }
            return state.proves ? proven : taken
        }
    }

    private static func object(_ request: HTTPRequest, bytes: [UInt8]?) -> HTTPResponse {
        guard let bytes else { return reply(404, text: "<Code>NoSuchKey</Code>") }
        let tag = String(SampleBytes.sha256(bytes).prefix(16))
        if let match = request.headers["if-match"], match != "\"\(tag)\"" { return reply(412) }
        var head = HTTPResponseHead(status: 200, headers: [:])
        head.headers.append(received: "etag", "\"\(tag)\"")
        let ends =
            request.headers["range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) } ?? []
        guard ends.count == 2 else {
            head.headers.append(received: "content-length", String(bytes.count))
            return HTTPResponse(head: head, body: bytes)
        }
        guard ends[0] < bytes.count else { return reply(416) }
        let part = Array(bytes[ends[0]...min(ends[1], bytes.count - 1)])
        head.status = 206
        head.headers.append(received: "content-length", String(part.count))
        head.headers.append(
            received: "content-range", "bytes \(ends[0])-\(ends[0] + part.count - 1)/\(bytes.count)")
        return HTTPResponse(head: head, body: part)
    }
}

extension SigningAnswer {
    fileprivate static func page(_ objects: [Object], next: String?) -> SigningAnswer {
        .page(Page(objects: objects, next: next))
    }
}
