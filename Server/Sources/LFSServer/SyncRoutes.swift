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
public struct SyncRoutes<Context: RequestContext>: Sendable {
    private let service: SyncService

    /// - Parameter service: what answers.
    public init(_ service: SyncService) { self.service = service }

    /// Adds the routes below a group's path.
    public func add(to group: RouterGroup<Context>) {
        let service = service
        group.post("stream") { request, _ in
            try await Self.answer(request) { await service.stream($0, token: $1) }
        }
        group.post("ack") { request, _ in
            try await Self.answer(request) { await service.acknowledge($0, token: $1) }
        }
        group.get("ack") { request, _ in
            Response(await service.acknowledged(token: BearerToken.text(of: request)))
        }
        group.delete("ack") { request, _ in
            try await Self.answer(request) { await service.forget($0, token: $1) }
        }
        group.post("digest") { request, _ in
            try await Self.answer(request) { await service.digest($0, token: $1) }
        }
        group.post("account") { request, _ in
            try await Self.answer(request) { await service.account($0, token: $1) }
        }
        group.get("schema") { request, _ in
            Response(await service.types(token: BearerToken.text(of: request)))
        }
        group.post("push") { request, _ in
            try await Self.answer(request) { await service.push($0, token: $1) }
        }
    }

    private static func answer(
        _ request: Request, _ body: (Data, String?) async -> SyncReply
    ) async throws -> Response {
        let token = BearerToken.text(of: request)
        // Whoever has no token has no body read.
        guard token != nil else { return Response(await body(.init(), nil)) }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > SyncService.largestRequest {
            throw HTTPError(.contentTooLarge)
        }
        let bytes = try await request.body.collect(upTo: SyncService.largestRequest)
        return Response(await body(.init(bytes.readableBytesView), token))
    }
}

extension Response {
    init(_ reply: SyncReply) {
        var headers = HTTPFields()
        for (name, value) in reply.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let body: ResponseBody
        switch reply.body {
        case .none: body = ResponseBody()
        case .whole(let data): body = ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        case .stream(let stream):
            // Each piece is read from the database when the socket has taken the one before.
            body = ResponseBody { writer in
                for try await piece in stream { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            }
        }
        self.init(status: .init(code: reply.status), headers: headers, body: body)
    }
}
