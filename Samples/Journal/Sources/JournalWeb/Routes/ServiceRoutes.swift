import Crypto
import Foundation
import Hummingbird
import LFS
import Logging

/// The routes other than pages: the style sheet, the script, the stream of events, health, metrics, login and logout.
struct ServiceRoutes: Sendable {
    let parts: WebParts

    /// The paths that are available without a login.
    static let open: Set<String> = [
        "/login", "/health", "/assets/journal.css", "/assets/journal.js", "/assets/pictures.js", "/assets/icon.svg",
    ]

    func add(to router: Router<JournalContext>) {
        let assets = [
            ("journal.css", "text/css; charset=utf-8", PackageResources.journal_css),
            ("journal.js", "text/javascript; charset=utf-8", PackageResources.journal_js),
            ("pictures.js", "text/javascript; charset=utf-8", PackageResources.pictures_js),
            ("icon.svg", "image/svg+xml", PackageResources.icon_svg),
        ]
        for (name, type, bytes) in assets {
            let hash = SHA256.hash(data: Data(bytes)).prefix(8).map { String($0, radix: 16) }.joined(separator: ".")
            let headers: HTTPFields = [.contentType: type, .cacheControl: "no-cache", .eTag: "W/\"\(hash)\""]
            router.get("/assets/\(name)") { request, _ in
                if request.headers[.ifNoneMatch] == headers[.eTag] {
                    return Response(status: .notModified, headers: headers)
                }
                return Response(
                    status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
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

    /// Replies if the database can be read. An outage of the storage does not count as a failure, since uploads wait
    /// and nothing is lost.
    @Sendable func health(_ request: Request, context: JournalContext) async throws -> Response {
        let outage = try await parts.lfs.outage()
        let text = #"{"status":"ok","storage":"\#(outage == nil ? "there" : "away")"}"#
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    @Sendable func metrics(_ request: Request, context: JournalContext) async throws -> Response {
        guard let metrics = parts.options.metrics else { throw WebError.noSuchPage }
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: metrics())))
    }

    @Sendable func events(_ request: Request, context: JournalContext) async throws -> Response {
        let body = ResponseBody { [parts, cookies = request.headers[values: .cookie]] writer in
            if parts.feed.enter() {
                defer { parts.feed.leave() }
                try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
                do {
                    try await parts.feed.watch { message, version in
                        // A logout ends the stream with the next message, which is a heartbeat at the latest.
                        guard parts.isOpen(to: cookies) else { throw SessionEnded() }
                        try await writer.write(ByteBuffer(string: message.text(version: version)))
                    }
                } catch is SessionEnded {
                    // The browser connects again, and is asked to log in.
                }
            } else {
                try await writer.write(ByteBuffer(string: "retry: 30000\n\n"))
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }

    // MARK: The way in

    @Sendable func loginPage(_ request: Request, context: JournalContext) async throws -> Response {
        guard parts.password != nil, !context.session.isLoggedIn else { return parts.redirect(to: "/") }
        return try await parts.page(
            "login", title: "Log in", at: "", context: context, isLive: false, content: LoginView(message: nil))
    }

    @Sendable func login(_ request: Request, context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context: context)
        guard let password = parts.password else { return parts.redirect(to: "/") }
        do {
            try password.check(form["password"])
        } catch {
            context.logger.notice(
                "A login with a wrong password was refused.",
                metadata: ["peer": "\(context.channel.remoteAddress?.ipAddress ?? "")"])
            return try await parts.page(
                "login", title: "Log in", at: "", context: context, isLive: false, status: error.status,
                content: LoginView(message: error.message))
        }
        // A login creates a new session, so that a cookie that was set before gives no access.
        var response = parts.redirect(to: "/")
        response.headers[.setCookie] = parts.sessions.header(for: parts.sessions.newSession(isLoggedIn: true))
        return response
    }

    @Sendable func logout(_ request: Request, context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context: context)
        // A copy of the cookie is invalid from now on.
        if parts.password != nil { try await parts.sessions.end(context.session) }
        return loggedOut()
    }

    @Sendable func logoutEverywhere(_ request: Request, context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context: context)
        try await parts.sessions.endAll()
        return loggedOut()
    }

    private func loggedOut() -> Response {
        var response = parts.redirect(to: "/login")
        response.headers[.setCookie] = parts.sessions.header(
            for: parts.sessions.newSession(isLoggedIn: parts.password == nil))
        // Thumbnails are kept without asking again. Nobody who uses the browser later should see them.
        response.headers[.clearSiteData] = "\"cache\""
        return response
    }
}

/// The end of a stream whose session was ended by a logout.
private struct SessionEnded: Error {}
