import Foundation
import Hummingbird
import JournalStorage
import LFS
import LFSServer
import LFSSettings
import Logging
import NIOHTTP1

/// A responder around the router: it checks every request, and turns every error into a page.
struct JournalResponder: HTTPResponder {
    typealias Context = JournalContext

    let parts: WebParts
    let guarding: RequestGuard
    let router: any HTTPResponder<JournalContext>

    func respond(to request: Request, context: JournalContext) async throws -> Response {
        let start = ContinuousClock.now
        var context = context
        var response: Response
        do {
            try guarding.check(request)
            context.session = session(of: request)
            context.version = parts.feed.version
            // A user with the password, or a user of this machine if the journal has no password.
            if context.session.isLoggedIn { try await Connections.count(context, for: "owner") }
            response = try await routed(request, context: context)
        } catch let error as HTTPParserError {
            // The connection can no longer be used, and the server reports that.
            throw error
        } catch {
            response = await reply(to: error, request, context: context)
        }
        do {
            response = try await Gzip.reply(response, to: request)
        } catch {
            response = await reply(to: error, request, context: context)
        }
        if request.method == .head { response = response.createHeadResponse() }
        context.logger.info(
            "\(request.method.rawValue) \(Self.shown(request.head.path))",
            metadata: ["status": "\(response.status.code)", "took": "\(ContinuousClock.now - start)"])
        return response
    }

    private func session(of request: Request) -> Session {
        let cookies = request.headers[values: .cookie]
        let isOpen = parts.password == nil
        guard let session = parts.sessions.session(cookies: cookies),
            isOpen || session.isLoggedIn || !session.id.isEmpty
        else { return parts.sessions.newSession(isLoggedIn: isOpen) }
        return session
    }

    private func routed(_ request: Request, context: JournalContext) async throws -> Response {
        // Browsers send no SameSite=Strict cookie after a link of another site. A new one would replace it.
        if context.session.isNew, request.method != .post, request.isFromOtherSite { return Self.reload() }
        let path = request.uri.path
        if parts.password != nil, !context.session.isLoggedIn, !ServiceRoutes.open.contains(path) {
            guard request.method != .post, request.headers[.accept]?.contains("text/html") == true else {
                throw WebError(.notLoggedIn, message: "Log in first.")
            }
            return parts.redirect(to: "/login")
        }
        var head = request.head
        if head.method == .head { head.method = .get }
        var response = try await router.respond(to: Request(head: head, body: request.body), context: context)
        // Only the router replies like this: replies of the routes have a body or are redirects.
        if response.status == .notFound { throw WebError.noSuchPage }
        let isPage = response.headers[.contentType]?.hasPrefix("text/html") == true
        if isPage, context.session.isNew, response.headers[.setCookie] == nil {
            response.headers[.setCookie] = parts.sessions.header(for: context.session)
        }
        return response
    }

    /// Returns a page that loads itself again. The second request starts on this server's page, so it has the cookie.
    private static func reload() -> Response {
        let text = """
            <!doctype html>
            <html lang="en">
            <head><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Journal</title></head>
            </html>
            """
        return Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    // MARK: Failures

    private func reply(to error: any Error, _ request: Request, context: JournalContext) async -> Response {
        let status = Self.status(of: error)
        let isOurs = error is WebError || error is FileStorageError || error is LFSError || error is SettingsError
        let message = isOurs ? "\(error)" : "The request failed. The reason is in the server's log."
        if status.kind == .serverError { context.logger.error("A request failed.", metadata: ["error": "\(error)"]) }
        let wantsPage = request.headers[.accept]?.contains("text/html") == true
        var response: Response
        if wantsPage, let page = try? await page(status, message: message, context: context) {
            response = page
        } else {
            let body = (try? JSONEncoder().encode(["message": message])) ?? Data()
            response = Response(
                status: status, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        }
        if status == .methodNotAllowed { response.headers[.allow] = "GET, HEAD, POST" }
        return response
    }

    private func page(
        _ status: HTTPResponse.Status, message: String, context: JournalContext
    ) async throws -> Response {
        let content = ErrorView(status, message: message, request: context.requestID ?? "")
        return try await parts.page(
            "error", title: content.heading, at: "", context: context, isLive: false, status: status, content: content)
    }

    static func status(of error: any Error) -> HTTPResponse.Status {
        switch error {
        case let error as WebError: return error.status
        case let error as FileStorageError:
            switch error {
            case .fileNotFound, .imageNotFound: return .notFound
            case .encodingFailed: return .unprocessableContent
            case .noSpace: return HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
            default: return .internalServerError
            }
        case let error as LFSError:
            switch error.code {
            case .unknownFile: return .notFound
            case .notUploaded, .pinned: return .conflict
            case .storage: return .badGateway
            case .notRunning, .cancelled: return .serviceUnavailable
            case .noSpace: return HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
            default: return .internalServerError
            }
        case let error as SettingsError:
            switch error.code {
            case .tooLarge: return .contentTooLarge
            case .noSpace: return HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
            case .locked, .keychainUnavailable, .cancelled: return .serviceUnavailable
            default: return .internalServerError
            }
        case let error as HTTPError where error.status == .tooManyRequests: return error.status
        case is CancellationError: return .serviceUnavailable
        default: return .internalServerError
        }
    }

    /// Returns the path for the log, without the query, which may contain private data, and without control characters.
    private static func shown(_ path: String?) -> String {
        let path = (path ?? "").prefix { $0 != "?" }.prefix(200)
        return String(decoding: path.utf8.map { (0x21...0x7e).contains($0) ? $0 : 0x3f }, as: UTF8.self)
    }
}
