import Foundation
import HTTPTypes
public import Hummingbird
public import LFSSyncServer
import NIOCore

/// The routes by which devices open and end sessions of a `SyncService` themselves.
///
/// ```swift
/// let provider = try JWTAuthentication(options, logger: logger)
/// SessionRoutes(service, authenticator: provider).add(to: router.group("v1/sessions"))
/// ```
///
/// `POST` with a token that the authenticator knows, and `{"device":"Ann's phone"}` or nothing, is answered with 201
/// and `{"token":"…"}`: a session of the account of that name. Only that token opens `v1/sync`; it stays valid when the
/// other one has expired. `DELETE` with the session's own token ends it: 204.
public struct SessionRoutes<Context: RequestContext>: Sendable {
    private let service: SyncService
    private let authenticator: any Authenticator
    private let lifetime: Duration?

    /// - Parameters:
    ///   - service: whose sessions they are.
    ///   - authenticator: who may open one.
    ///   - lifetime: how long one lasts; nil for as long as nobody revokes it.
    public init(_ service: SyncService, authenticator: any Authenticator, lifetime: Duration? = nil) {
        (self.service, self.authenticator, self.lifetime) = (service, authenticator, lifetime)
    }

    /// Adds the routes to a group's path.
    public func add(to group: RouterGroup<Context>) {
        group.post { request, _ in try await open(request) }
        group.delete { request, _ in
            guard let token = BearerToken.text(of: request), try await service.endSession(token: token) else {
                return Self.refusal(.unauthorized, "unauthorized", "This needs the token of a session.")
            }
            return Response(status: .noContent)
        }
    }

    private struct Question: Decodable {
        var device: String?
    }

    private func open(_ request: Request) async throws -> Response {
        guard let name = try await authenticator.name(of: request) else {
            return Self.refusal(.unauthorized, "unauthorized", "This needs a token of the app's identity provider.")
        }
        let body = try await ContentCoding.body(of: request, limit: 4_096)
        var device = ""
        if !body.isEmpty {
            guard body.count <= 4_096, let question = try? JSONDecoder().decode(Question.self, from: Data(body)),
                (question.device ?? "").utf8.count <= 200, Self.isPlain(question.device ?? "")
            else {
                return Self.refusal(
                    .badRequest, "invalid_request",
                    "The body is {\"device\":\"…\"} of at most 200 bytes without control characters, or empty.")
            }
            device = question.device ?? ""
        }
        do {
            let token = try await service.addSession(account: name, device: device, lifetime: lifetime)
            return Self.reply(.created, "{\"token\":\"\(token)\"}\n")
        } catch let error as SyncSessionError where error.code == .tooMany {
            return Self.refusal(.forbidden, "too_many", error.message)
        }
    }

    /// Whoever runs the server sees it in a terminal.
    private static func isPlain(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// - Parameter message: without quotes and backslashes.
    private static func refusal(_ status: HTTPResponse.Status, _ code: String, _ message: String) -> Response {
        let text = message.replacing("\"", with: "'").replacing("\\", with: "/")
        var response = reply(status, "{\"error\":{\"code\":\"\(code)\",\"message\":\"\(text)\"}}\n")
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }

    private static func reply(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
