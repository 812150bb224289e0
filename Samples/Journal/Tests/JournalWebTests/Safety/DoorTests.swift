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
}
