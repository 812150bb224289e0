import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire
import Logging
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure
@testable import LFSSigningServer

/// A store, its services, and a client that sends signed requests.
struct OpenStore: Sendable {
    let backend: SigningBackend
    let secret: SigningSecret
    let clock: TestClock
    /// Nil for the folder and for buckets.
    var container: AzureStorage?

    /// The claims of namespaces. A store that cannot claim them allows everything to every caller.
    var access: SigningAccess { backend.createsAtomically ? .claimedNamespaces : .rule { _ in true } }

    func service(
        access: SigningAccess? = nil, _ logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        uptime: @escaping @Sendable () -> Duration = { .zero }, clock: any Clock<Duration> = ContinuousClock(),
        _ change: (inout SigningLimits) -> Void = { _ in }
    ) throws -> SigningService {
        var limits = SigningLimits()
        change(&limits)
        return try SigningService(
            backend, access: access ?? self.access, secret: secret, limits: limits, logger: logger, uptime: uptime,
            clock: clock)
    }

    struct Sent: Sendable {
        let status: Int
        let headers: [String: String]
        let body: [UInt8]

        var isSuccess: Bool { (200..<300).contains(status) }
    }

    /// Sends the request that an action allows, or a modified one.
    func send(
        _ action: SigningAction, _ body: [UInt8] = [], method: String? = nil, href: String? = nil,
        without field: String? = nil, service: SigningService? = nil
    ) async throws -> Sent {
        var headers = action.header
        if let field { headers[field] = nil }
        let (method, href) = (method ?? action.method, href ?? action.href)
        if backend.folder != nil {
            return try await sendInside(
                method, href: href, headers: headers, body, without: field, service: try service ?? self.service())
        }
        headers["content-length"] = nil
        let parts = try #require(URLComponents(string: href))
        let url = try #require(URL(string: href))
        var fields = HTTPHeaders()
        for (name, value) in headers { try fields.set(name, value: value) }
        let request = HTTPRequest(
            .init(rawValue: method), origin: try HTTPOrigin(url),
            target: "\(parts.percentEncodedPath)?\(parts.percentEncodedQuery ?? "")",
            headers: fields, body: body.isEmpty && method != "PUT" ? .none : .bytes(body),
            reply: .bytes(limit: 64 << 20))
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = true
        let transport = DefaultTransport.make(HTTPOptions(connection))
        let response = try await transport.send(request)
        await transport.shutdown()
        let pairs = response.headers.fields.map { ($0.name.lowercased(), $0.value) }
        return Sent(status: response.status, headers: Dictionary(pairs) { first, _ in first }, body: response.body)
    }

    private func sendInside(
        _ method: String, href: String, headers: [String: String], _ body: [UInt8], without field: String?,
        service: SigningService
    ) async throws -> Sent {
        let halves = href.split(separator: "?", maxSplits: 1).map(String.init)
        let mark = try #require(halves[0].range(of: "/bytes/"))
        var headers = headers
        if field != "content-length", method == "PUT" { headers["content-length"] = String(body.count) }
        let request = BytesRequest(
            key: String(halves[0][mark.upperBound...]), query: halves.count > 1 ? halves[1] : "", headers: headers)
        let reply: BytesReply
        switch method {
        case "PUT": reply = await service.put(request, body: AsyncStream([body]))
        case "GET": reply = await service.get(request)
        // The routes have no other method.
        default: return Sent(status: 405, headers: [:], body: [])
        }
        var bytes: [UInt8] = []
        switch reply.body {
        case .whole(let whole): bytes = whole
        case .file(let pieces): for try await piece in pieces { bytes += piece }
        }
        return Sent(status: reply.status, headers: reply.headers, body: bytes)
    }
}

extension SigningService {
    /// Sends a request for one object.
    func ask(
        _ operation: SigningOperation, object: SigningObject, as caller: String = "alice", rights: SigningRights = .all
    ) async throws -> SigningAnswer {
        try #require(try await ask(operation, objects: [object], as: caller, rights: rights).first)
    }

    func ask(
        _ operation: SigningOperation, objects: [SigningObject], as caller: String = "alice",
        rights: SigningRights = .all
    ) async throws -> [SigningAnswer] {
        let body = try WireFormat.encode(SigningRequest(operation, objects: objects))
        let reply = await answer(body, caller: caller, rights: rights)
        try #require(reply.status == 200, "\(String(decoding: reply.body, as: UTF8.self))")
        return try WireFormat.decode(SigningReplyBody.self, from: reply.body, limits: .reply).objects.map {
            try $0.get()
        }
    }
}

/// Bytes and their announcement in an upload.
struct Sample: Sendable {
    let bytes: [UInt8]

    init(_ byteCount: Int, seed: UInt64 = 1) { bytes = SampleBytes.make(byteCount, seed: seed) }

    func object(_ key: String? = nil) -> SigningObject {
        SigningObject(
            key: key, size: Int64(bytes.count), sha256: Digests.sha256(bytes), md5: Digests.md5(bytes))
    }

    /// Returns the object of a part and its bytes.
    func part(_ number: Int, size: Int64, of upload: String) -> (SigningObject, [UInt8]) {
        let start = (number - 1) * Int(size)
        let bytes = Array(self.bytes[start..<min(start + Int(size), self.bytes.count)])
        var object = SigningObject(
            size: Int64(bytes.count), sha256: Digests.sha256(bytes), md5: Digests.md5(bytes))
        object.upload = upload
        object.number = Int64(number)
        return (object, bytes)
    }

    func completion(_ size: Int64, of upload: String) -> SigningObject {
        let count = (bytes.count + Int(size) - 1) / Int(size)
        let parts = (1...count).map { part($0, size: size, of: upload).1 }
        var object = SigningObject()
        object.upload = upload
        object.partsSHA256 = Digests.sha256(parts.flatMap { Hex.bytes(Digests.sha256($0)) ?? [] })
        object.partsMD5 = Digests.md5(parts.flatMap { Hex.bytes(Digests.md5($0)) ?? [] })
        return object
    }
}
