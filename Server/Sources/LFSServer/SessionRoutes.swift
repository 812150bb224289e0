import Foundation
import HTTPTypes
public import Hummingbird
import LFSSigningServer
public import LFSSyncServer
import NIOCore

/// The routes with which devices open and end their own sessions of a `SyncService`.
///
/// ```swift
/// let provider = try JWTAuthentication(options, logger: logger)
/// SessionRoutes(service, authenticator: provider).add(to: router.group("v1/sessions"))
/// ```
///
/// `POST` requires a token that the authenticator knows, and the body `{"device":"Ann's phone"}` or none. The reply is
/// 201 with `{"token":"…"}`, the token of a new session for the named account. Only this token opens `v1/sync`, and it
/// stays valid after the provider's token expires. `DELETE` with the session's own token ends the session with 204.
///
/// The end of a session may depend on the expiry of the provider's token. With `{"session":"…"}`, the token of the
/// account's session, `POST` moves the end of that session. The reply is 200 with the same token. The device keeps its
/// state, unlike with a new session.
///
/// Both requests count towards the account's rate limit, and their connections towards its connections, like its
/// requests to `v1/sync`. Above a limit, the reply is 429.
public struct SessionRoutes<Context: RequestContext>: Sendable {
    private let service: SyncService
    private let authenticator: any Authenticator
    private let lifetime: Duration?
    private let lifetimeAfterToken: Duration?

    /// Creates the routes.
    ///
    /// - Parameters:
    ///   - service: the service that holds the sessions.
    ///   - authenticator: decides who may open a session.
    ///   - lifetime: the maximum lifetime of a session, however often it is used. The default, nil, sets no limit.
    ///   - lifetimeAfterToken: the maximum lifetime of a session after the expiry of the token that has opened or
    ///     extended it. The default, nil, sets no limit.
    public init(
        _ service: SyncService, authenticator: any Authenticator, lifetime: Duration? = nil,
        lifetimeAfterToken: Duration? = nil
    ) {
        self.lifetimeAfterToken = lifetimeAfterToken
        self.service = service
        self.authenticator = authenticator
        self.lifetime = lifetime
    }

    /// Adds the routes to a group's path.
    public func add(to group: RouterGroup<Context>) {
        group.post { request, context in try await open(request, context: context) }
        group.delete { request, context in try await end(request, context: context) }
    }

    private func end(_ request: Request, context: Context) async throws -> Response {
        let refusal = Self.refusal(
            .unauthorized, code: "unauthorized", message: "The request needs the token of a session.")
        guard let token = BearerToken.text(of: request), let account = try await service.account(ofToken: token)
        else { return refusal }
        (context as? any RecordedContext)?.record.record(sessionToken: token)
        try await Connections.count(context, for: SigningService.hash(ofCaller: account))
        if let refusal = try await service.throttled(token: token) { return Response(refusal) }
        return try await service.endSession(token: token) ? Response(status: .noContent) : refusal
    }

    private struct Question: Decodable {
        var device: String?
        var session: String?
    }

    /// Returns the latest end of a session that a request opens or extends, or nil for none.
    private func latestEnd(of request: Request) async throws -> Date? {
        guard let lifetimeAfterToken, let expiry = try await authenticator.expiry(of: request) else { return nil }
        // The time comes from the provider. The limit, in the year 2286, keeps it within the range of the database.
        return min(expiry, Date(timeIntervalSince1970: 1e10)).addingTimeInterval(lifetimeAfterToken / .seconds(1))
    }

    private func open(_ request: Request, context: Context) async throws -> Response {
        guard let name = try await authenticator.name(of: request) else {
            return Self.refusal(
                .unauthorized, code: "unauthorized",
                message: "The request needs a token of the app's identity provider.")
        }
        // A new account has no id yet.
        let account = try await service.account(named: name) ?? name
        try await Connections.count(context, for: SigningService.hash(ofCaller: account))
        if let refusal = try await service.throttled(account: name) { return Response(refusal) }
        // Before the body arrives, because the token may expire in the meantime.
        let latestEnd = try await latestEnd(of: request)
        let body = try await ContentCoding.body(of: request, limit: 4_096)
        var device = ""
        var session: String?
        if !body.isEmpty {
            guard body.count <= 4_096, let question = try? JSONDecoder().decode(Question.self, from: Data(body)),
                (question.device ?? "").utf8.count <= 200, Self.isPlain(question.device ?? ""),
                (question.session ?? "").utf8.count <= 256
            else {
                return Self.refusal(
                    .badRequest, code: "invalid_request",
                    message: """
                        The body is {"device":"…"} of at most 200 bytes without control characters, \
                        {"session":"…"} with the token of a session, or empty.
                        """
                )
            }
            device = question.device ?? ""
            session = question.session
        }
        do {
            if let session {
                try await service.extendSession(
                    token: session, account: name, lifetime: lifetime, latestEnd: latestEnd)
                return Self.reply(.ok, text: "{\"token\":\"\(session)\"}\n")
            }
            let token = try await service.addSession(
                account: name, device: device, lifetime: lifetime, latestEnd: latestEnd)
            return Self.reply(.created, text: "{\"token\":\"\(token)\"}\n")
        } catch let error as SyncSessionError where error.code == .tooMany {
            return Self.refusal(.forbidden, code: "too_many", message: error.message)
        } catch let error as SyncSessionError where error.code == .unknownSession {
            return Self.refusal(.forbidden, code: "unknown_session", message: error.message)
        }
    }

    /// Returns true if the text has no control characters, because an administrator sees it in a terminal.
    private static func isPlain(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// - Parameter message: the text of the refusal. Quotes and backslashes are replaced.
    private static func refusal(_ status: HTTPResponse.Status, code: String, message: String) -> Response {
        let text = message.replacing("\"", with: "'").replacing("\\", with: "/")
        var response = reply(status, text: "{\"error\":{\"code\":\"\(code)\",\"message\":\"\(text)\"}}\n")
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }

    private static func reply(_ status: HTTPResponse.Status, text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
