import Foundation
import HTTPTypes
import Hummingbird
import LFS
import Logging

/// What is no page: the style, the script, the stream of events, health, metrics, and the way in and out.
struct ServiceRoutes: Sendable {
    let parts: WebParts

    /// What is sent to those who have not logged in.
    static let open: Set<String> = [
        "/login", "/health", "/assets/journal.css", "/assets/journal.js", "/assets/icon.svg",
    ]

    func add(to router: Router<JournalContext>) {
        let assets = [
            ("journal.css", "text/css; charset=utf-8", PackageResources.journal_css),
            ("journal.js", "text/javascript; charset=utf-8", PackageResources.journal_js),
            ("icon.svg", "image/svg+xml", PackageResources.icon_svg),
        ]
        for (name, type, bytes) in assets {
            router.get("/assets/\(name)") { _, _ in
                Response(
                    status: .ok, headers: [.contentType: type, .cacheControl: "no-cache"],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
            }
        }
        router.get("/health", use: health)
        router.get("/metrics", use: metrics)
        router.get("/events", use: events)
        router.get("/login", use: loginPage)
        router.post("/login", use: login)
        router.post("/logout", use: logout)
        router.post("/logout/all", use: logoutEverywhere)
    }

    /// Answers as long as the database does. A storage that is away is no illness: nothing is lost meanwhile.
    @Sendable func health(_ request: Request, _ context: JournalContext) async throws -> Response {
        let outage = try await parts.lfs.outage()
        let text = #"{"status":"ok","storage":"\#(outage == nil ? "there" : "away")"}"#
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    @Sendable func metrics(_ request: Request, _ context: JournalContext) async throws -> Response {
        guard let metrics = parts.options.metrics else { throw WebError.noSuchPage }
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: metrics())))
    }

    @Sendable func events(_ request: Request, _ context: JournalContext) async throws -> Response {
        let body = ResponseBody { [feed = parts.feed] writer in
            if feed.enter() {
                defer { feed.leave() }
                try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
                try await feed.run { message in try await writer.write(ByteBuffer(string: message.text)) }
            } else {
                try await writer.write(ByteBuffer(string: "retry: 30000\n\n"))
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }

    // MARK: The way in

    @Sendable func loginPage(_ request: Request, _ context: JournalContext) async throws -> Response {
        guard parts.password != nil, !context.session.isLoggedIn else { return parts.redirect(to: "/") }
        return try await parts.page("login", "Log in", at: "", context, isLive: false, LoginView(message: nil))
    }

    @Sendable func login(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        guard let password = parts.password else { return parts.redirect(to: "/") }
        do {
            try password.check(form["password"])
        } catch {
            context.logger.notice("Somebody has tried a wrong password.")
            return try await parts.page(
                "login", "Log in", at: "", context, isLive: false, status: error.status,
                LoginView(message: error.message))
        }
        // A new one, so that nobody gets in with one that they have handed over before.
        var response = parts.redirect(to: "/")
        response.headers[.setCookie] = parts.sessions.header(for: parts.sessions.newSession(isLoggedIn: true))
        return response
    }

    @Sendable func logout(_ request: Request, _ context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context)
        // A cookie that somebody has copied is of no use from here on.
        if parts.password != nil { try await parts.sessions.end(context.session) }
        return loggedOut()
    }

    @Sendable func logoutEverywhere(_ request: Request, _ context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context)
        try await parts.sessions.endAll()
        return loggedOut()
    }

    private func loggedOut() -> Response {
        var response = parts.redirect(to: "/login")
        response.headers[.setCookie] = parts.sessions.header(
            for: parts.sessions.newSession(isLoggedIn: parts.password == nil))
        return response
    }
}
