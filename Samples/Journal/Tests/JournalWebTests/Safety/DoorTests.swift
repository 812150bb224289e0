import Foundation
import JournalWeb
import Testing

@Suite("Access control", .timeLimit(.minutes(10)))
struct DoorTests {
    @Test(
        "Remote addresses require a password and TLS",
        arguments: ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "journal.example.org:80", "127.evil.example:80"])
    func options(_ address: String) throws {
        var options = WebOptions()
        options.address = try #require(ListenAddress(address))
        #expect(throws: WebError.self) { try options.requireSafe() }
        options.password = "correct horse battery"
        #expect(throws: WebError.self) { try options.requireSafe() }
        options.tls = .init(certificate: "a", key: "b")
        try options.requireSafe()
        options.password = "short"
        #expect(throws: WebError.self) { try options.requireSafe() }
        options.password = nil
        #expect(throws: WebError.self) { try options.requireSafe() }
    }

    @Test(
        "Local addresses require neither password nor TLS", arguments: ["127.0.0.1:0", "[::1]:8080", "localhost:8080"])
    func loopback(_ address: String) throws {
        var options = WebOptions()
        options.address = try #require(ListenAddress(address))
        try options.requireSafe()
    }

    @Test("A wrong address is refused", arguments: ["", ":", "a", "a:", ":1", "a:70000", "::1:80", "[::1]", "a b:1"])
    func addresses(_ text: String) { #expect(ListenAddress(text) == nil) }

    @Test("A password protects every page, and login attempts are limited")
    func password() async throws {
        try await withWeb { options in
            options.password = "correct horse battery"
            options.metrics = { "x 1\n" }
        } _: { subject in
            let record = try await subject.record("Secret walk")
            for path in ["/", "/timeline", subject.path(record), "/storage", "/pictures"] {
                let reply = try await subject.get(path)
                #expect(reply.status == 303 && reply.header("Location") == "/login", "\(path)")
            }
            for path in ["/metrics", "/events"] {
                #expect(try await subject.get(path, headers: ["Accept": "*/*"]).status == 401, "\(path)")
            }
            #expect(try await subject.get("/health").status == 200)
            var web = try await subject.visiting("/login")
            #expect(try await web.post("/records", fields: [("comment", "x")]).status == 401)
            for _ in 0..<9 { #expect(try await web.post("/login", fields: [("password", "guess")]).status == 401) }
            let reply = try await web.post("/login", fields: [("password", "correct horse battery")])
            #expect(reply.status == 303)
            let cookie = try #require(reply.header("Set-Cookie"))
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            web.cookie = String(cookie.prefix { $0 != ";" })
            #expect(try await web.get("/timeline").text.contains("Secret walk"))
            // The cookie's signature covers its state.
            let forged = subject.cookie.replacing("=out.", with: "=in.")
            #expect(try await subject.get("/", headers: ["Cookie": forged]).status == 303)
            _ = try await subject.visiting("/login").post("/login", fields: [("password", "guess")])
            let late = try await subject.visiting("/login").post(
                "/login", fields: [("password", "correct horse battery")])
            #expect(late.status == 429)
        }
    }

    /// The headers of a navigation. Browsers send no cookie for a link of another site.
    private func navigation(from site: String, sendsCookie: Bool) -> [String: String] {
        let headers = ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"]
        return sendsCookie ? headers : headers.merging(["Cookie": ""]) { _, new in new }
    }

    @Test("A link from another site keeps the session", arguments: ["cross-site", "same-site"])
    func link(_ site: String) async throws {
        try await withWeb { options in
            options.password = "correct horse battery"
        } _: { subject in
            let record = try await subject.record("Secret walk")
            var web = try await subject.visiting("/login")
            let login = try await web.post("/login", fields: [("password", "correct horse battery")])
            web.cookie = String(try #require(login.header("Set-Cookie")).prefix { $0 != ";" })
            for path in ["/timeline", "/login", web.path(record)] {
                let reply = try await web.get(path, headers: navigation(from: site, sendsCookie: false))
                #expect(reply.status == 200 && reply.header("Set-Cookie") == nil, "\(path)")
                #expect(reply.text.contains(#"<meta http-equiv="refresh" content="0">"#), "\(path)")
                #expect(!reply.text.contains("Secret walk"), "\(path)")
                #expect(reply.header("Content-Security-Policy") != nil && reply.header("Cache-Control") == "no-store")
            }
            // The page loads itself again.
            let page = try await web.get("/timeline", headers: navigation(from: "same-origin", sendsCookie: true))
            #expect(page.status == 200 && page.text.contains("Secret walk"))
        }
    }

    @Test("A browser without a cookie gets one after a link from another site")
    func firstVisit() async throws {
        try await withWeb { subject in
            let link = try await subject.get("/", headers: navigation(from: "cross-site", sendsCookie: false))
            #expect(link.header("Set-Cookie") == nil)
            for site in ["same-origin", "none"] {
                let page = try await subject.get("/", headers: navigation(from: site, sendsCookie: false))
                #expect(page.status == 200 && page.header("Set-Cookie") != nil, "\(site)")
                #expect(!page.text.contains("http-equiv"), "\(site)")
            }
            let sent = try await subject.visiting().get(
                "/", headers: navigation(from: "same-site", sendsCookie: true))
            #expect(sent.status == 200)
        }
    }
}
