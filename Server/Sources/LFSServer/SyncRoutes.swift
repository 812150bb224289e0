import Foundation
import HTTPTypes
public import Hummingbird
import LFSSigningServer
public import LFSSyncServer
import NIOCore

/// The routes of a `SyncService` for a server on Hummingbird.
///
/// ```swift
/// let service = try await SyncService(SQLiteDatabase(path: path), schema: schema)
/// SyncRoutes(service).add(to: router.group("v1/sync"))
/// ```
///
/// A stream is compressed with gzip if the client accepts it. Each page and each later line is flushed separately.
/// Request bodies may be gzip too.
public struct SyncRoutes<Context: RequestContext>: Sendable {
    private let service: SyncService

    /// Creates the routes.
    ///
    /// - Parameter service: the service that answers.
    public init(_ service: SyncService) { self.service = service }

    /// Adds the routes below a group's path.
    public func add(to group: RouterGroup<Context>) {
        let service = service
        group.post("stream") { request, context in
            let isCompressed = ContentCoding.takesGzip(request)
            return try await Self.answer(request, context: context, service: service, isCompressed: isCompressed) {
                await service.stream($0, token: $1)
            }
        }
        group.post("ack") { request, context in
            try await Self.answer(request, context: context, service: service) {
                await service.acknowledge($0, token: $1)
            }
        }
        group.get("ack") { request, context in
            try await Self.answer(request, context: context, service: service, hasBody: false) {
                await service.acknowledged(token: $1)
            }
        }
        group.delete("ack") { request, context in
            try await Self.answer(request, context: context, service: service) { await service.forget($0, token: $1) }
        }
        group.post("digest") { request, context in
            try await Self.answer(request, context: context, service: service) { await service.digest($0, token: $1) }
        }
        group.post("account") { request, context in
            try await Self.answer(request, context: context, service: service) { await service.account($0, token: $1) }
        }
        group.get("schema") { request, context in
            try await Self.answer(request, context: context, service: service, hasBody: false) {
                await service.types(token: $1)
            }
        }
        group.post("push") { request, context in
            try await Self.answer(request, context: context, service: service) { await service.push($0, token: $1) }
        }
    }

    private static func answer(
        _ request: Request, context: Context, service: SyncService, isCompressed: Bool = false,
        hasBody: Bool = true, _ body: (Data, String?) async -> SyncReply
    ) async throws -> Response {
        // Without a session, the body is neither read nor decompressed.
        guard let token = BearerToken.text(of: request), try await isOpen(token, context: context, service: service)
        else {
            return Response(await body(.init(), nil))
        }
        guard hasBody else { return Response(await body(.init(), token)) }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > SyncService.largestRequest {
            throw HTTPError(.contentTooLarge)
        }
        // The body may have one byte too many. The service then refuses it with its own message.
        let bytes = try await ContentCoding.body(of: request, limit: SyncService.largestRequest)
        let reply = await body(.init(bytes), token)
        if case .stream(let stream) = reply.body {
            await Connections.watchClient(of: context) { stream.clientLeft() }
        }
        return Response(reply, isCompressed: isCompressed)
    }

    /// Returns true if the token belongs to a session. It also returns true if the lookup fails, because the service
    /// then reports the failure.
    ///
    /// - Throws: `HTTPError` with 429 if the account has too many connections.
    private static func isOpen(_ token: String, context: Context, service: SyncService) async throws -> Bool {
        let account: String?
        do { account = try await service.recentAccount(ofToken: token) } catch { return true }
        guard let account else { return false }
        (context as? any RecordedContext)?.record.record(sessionToken: token)
        try await Connections.count(context, for: SigningService.hash(ofCaller: account))
        return true
    }
}

extension Response {
    /// - Parameter isCompressed: true if a stream is sent as gzip. Other replies are short and stay uncompressed.
    init(_ reply: SyncReply, isCompressed: Bool = false) {
        var headers = HTTPFields()
        for (name, value) in reply.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let body: ResponseBody
        switch reply.body {
        case .none: body = ResponseBody()
        case .whole(let data): body = ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        case .stream(let stream):
            if isCompressed { headers[.contentEncoding] = "gzip" }
            body = ResponseBody { writer in
                let gzip = isCompressed ? try GzipEncoder() : nil
                try await stream.write(to: &writer) { try gzip?.encode($0) ?? $0 }
                if let gzip { try await writer.write(ByteBuffer(bytes: try gzip.finish())) }
                try await writer.finish(nil)
            }
        }
        self.init(status: .init(code: reply.status), headers: headers, body: body)
    }
}
