import Foundation
import HTTPTypes
public import Hummingbird
public import LFSSyncServer
import NIOCore

/// The routes of a `SyncService` for a server on Hummingbird.
///
/// ```swift
/// let service = try await SyncService(SQLiteDatabase(path: path), schema: schema)
/// SyncRoutes(service).add(to: router.group("v1/sync"))
/// ```
///
/// Streams go as gzip where a client takes that, each page and each line that follows by itself, and bodies may come
/// so.
public struct SyncRoutes<Context: RequestContext>: Sendable {
    private let service: SyncService

    /// - Parameter service: what answers.
    public init(_ service: SyncService) { self.service = service }

    /// Adds the routes below a group's path.
    public func add(to group: RouterGroup<Context>) {
        let service = service
        group.post("stream") { request, _ in
            let isCompressed = ContentCoding.takesGzip(request)
            return try await Self.answer(request, service, isCompressed: isCompressed) {
                await service.stream($0, token: $1)
            }
        }
        group.post("ack") { request, _ in
            try await Self.answer(request, service) { await service.acknowledge($0, token: $1) }
        }
        group.get("ack") { request, _ in
            Response(await service.acknowledged(token: BearerToken.text(of: request)))
        }
        group.delete("ack") { request, _ in
            try await Self.answer(request, service) { await service.forget($0, token: $1) }
        }
        group.post("digest") { request, _ in
            try await Self.answer(request, service) { await service.digest($0, token: $1) }
        }
        group.post("account") { request, _ in
            try await Self.answer(request, service) { await service.account($0, token: $1) }
        }
        group.get("schema") { request, _ in
            Response(await service.types(token: BearerToken.text(of: request)))
        }
        group.post("push") { request, _ in
            try await Self.answer(request, service) { await service.push($0, token: $1) }
        }
    }

    private static func answer(
        _ request: Request, _ service: SyncService, isCompressed: Bool = false,
        _ body: (Data, String?) async -> SyncReply
    ) async throws -> Response {
        // Of whoever has no session no body is read, and nothing is unpacked.
        guard let token = BearerToken.text(of: request), await isOpen(token, service) else {
            return Response(await body(.init(), nil))
        }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > SyncService.largestRequest {
            throw HTTPError(.contentTooLarge)
        }
        // The service refuses what is one byte too large in its own words.
        let bytes = try await ContentCoding.body(of: request, limit: SyncService.largestRequest)
        return Response(await body(.init(bytes), token), isCompressed: isCompressed)
    }

    /// Whether a token is that of a session, as far as that can be told now: the service says what fails.
    private static func isOpen(_ token: String, _ service: SyncService) async -> Bool {
        do { return try await service.account(ofToken: token) != nil } catch { return true }
    }
}

extension Response {
    /// - Parameter isCompressed: whether a stream goes as gzip. What is there already is short.
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
