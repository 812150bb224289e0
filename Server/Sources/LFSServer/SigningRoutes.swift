import HTTPTypes
public import Hummingbird
public import LFSSigningServer
import Logging
import NIOCore

/// A caller of a `SigningService`, as the host has identified it.
public struct SigningCaller: Sendable {
    /// The name of the user, which must never change.
    public let name: String
    /// The operations that the caller may use.
    public let rights: SigningRights

    /// Creates a caller.
    public init(_ name: String, rights: SigningRights = .all) {
        self.name = name
        self.rights = rights
    }
}

/// The routes of a `SigningService` for a server on Hummingbird: the base URL, and `bytes/…` below it if the server is
/// the store.
///
/// ```swift
/// let service = try SigningService(backend: .s3(storage), access: .claimedNamespaces, secret: secret)
/// SigningRoutes(service) { request, context in
///     try await user(of: request).map { SigningCaller($0) }
/// }.add(to: router.group("lfs"))
/// ```
///
/// If the server is the store, add ``ContinueMiddleware`` before the routes, because clients wait with large bodies.
public struct SigningRoutes<Context: RequestContext>: Sendable {
    /// Returns the caller of a request. Return nil for a request without a valid token, which is answered with 401. The
    /// framework handles errors.
    public typealias Authenticate = @Sendable (Request, Context) async throws -> SigningCaller?

    private let service: SigningService
    private let authenticate: Authenticate
    private let patience: Duration

    /// Creates the routes.
    ///
    /// - Parameters:
    ///   - service: the service that answers.
    ///   - patience: the time limit of a request to the base URL, including its body. After it, the reply is 503. A
    ///     bucket needs minutes to combine thousands of parts.
    ///   - authenticate: identifies the caller before the body is read.
    public init(
        _ service: SigningService, patience: Duration = .seconds(300), authenticate: @escaping Authenticate
    ) {
        self.service = service
        self.authenticate = authenticate
        self.patience = patience
    }

    /// Adds the routes below a group's path.
    public func add(to group: RouterGroup<Context>) {
        group.get { request, context in
            guard let caller = try await authenticate(request, context) else { return Response(.unauthorized) }
            try await Connections.count(context, for: SigningService.hash(ofCaller: caller.name))
            return Response(service.description())
        }
        group.post { request, context in
            guard let caller = try await authenticate(request, context) else { return Response(.unauthorized) }
            try await Connections.count(context, for: SigningService.hash(ofCaller: caller.name))
            return Response(try await answer(request, caller: caller, requestID: context.requestID ?? ""))
        }
        guard service.servesBytes else { return }
        group.put("bytes/**") { request, context in
            guard let bytes = BytesRequest(request) else { return Response(.unknownRequest(status: 404)) }
            try await count(bytes, method: "PUT", context: context)
            let body = request.body.map { Array($0.readableBytesView) }
            return Response(await service.put(bytes, body: body, requestID: context.requestID ?? ""))
        }
        group.get("bytes/**") { request, context in
            guard let bytes = BytesRequest(request) else { return Response(.unknownRequest(status: 404)) }
            try await count(bytes, method: "GET", context: context)
            return Response(await service.get(bytes, requestID: context.requestID ?? ""))
        }
    }

    /// Counts the connection towards the account that received the signed URL.
    private func count(_ request: BytesRequest, method: String, context: Context) async throws {
        guard let caller = service.caller(ofURL: request, method: method) else { return }
        try await Connections.count(context, for: caller)
    }

    private func answer(
        _ request: Request, caller: SigningCaller, requestID: String
    ) async throws -> SigningReply {
        try await withThrowingTaskGroup(of: SigningReply.self) { group in
            group.addTask {
                do {
                    let body = try await request.body.collect(upTo: service.limits.largestRequest)
                    return await service.answer(
                        .init(body.readableBytesView), caller: caller.name, rights: caller.rights,
                        requestID: requestID)
                } catch is NIOTooManyBytesError {
                    return .tooLarge
                }
            }
            group.addTask {
                try await Task.sleep(for: patience)
                return .unavailable
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .unavailable
        }
    }
}

extension BytesRequest {
    /// Reads the key after the first `/bytes/` of the path, because a key may contain the same text. Do not mount the
    /// server below a path that contains it.
    fileprivate init?(_ request: Request) {
        let target = request.head.path ?? ""
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let mark = halves.first?.firstRange(of: "/bytes/"), let path = halves.first else { return nil }
        var headers: [String: String] = [:]
        for field in request.headers where headers[field.name.canonicalName] == nil {
            headers[field.name.canonicalName] = field.value
        }
        self.init(
            key: String(path[mark.upperBound...]), query: halves.count > 1 ? halves[1] : "", headers: headers)
    }
}

extension Response {
    init(_ reply: SigningReply) {
        self.init(
            status: .init(code: reply.status), headers: HTTPFields(reply.headers),
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body)))
    }

    init(_ reply: BytesReply) {
        let body: ResponseBody
        switch reply.body {
        case .whole(let bytes): body = ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        case .file(let pieces):
            body = ResponseBody(contentLength: Int(pieces.byteCount)) { writer in
                for try await piece in pieces { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            }
        }
        self.init(status: .init(code: reply.status), headers: HTTPFields(reply.headers), body: body)
    }
}

extension HTTPFields {
    fileprivate init(_ fields: [String: String]) {
        self.init()
        for (name, value) in fields {
            if let name = HTTPField.Name(name) { self[name] = value }
        }
    }
}
