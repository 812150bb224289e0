import Foundation
import GRDB
import JournalStorage
import LFSSettings
import Synchronization
import Testing

@testable import JournalWeb

@Suite("Sessions", .timeLimit(.minutes(10)))
struct SessionTests {
    /// Settings and secrets in a folder that survives restarts.
    private struct Place {
        let folder: URL
        let time = Clock()

        func settings() async throws -> StorageRouter {
            let pool = try await DatabaseStorageService.openDatabase(at: folder.appending(path: "journal.sqlite"))
            return try await JournalSettings.open(
                pool, secrets: SecretsFolder(folder.appending(path: "state").path))
        }

        func sessions(_ password: String? = "correct horse battery") async throws -> Sessions {
            try await Sessions.open(
                try await settings(), password: password.map(Password.init), isTLS: false, now: { time.seconds })
        }
    }

    private final class Clock: Sendable {
        private let value = Mutex(1_770_000_000)
        var seconds: Int { value.withLock { $0 } }
        func advance(_ seconds: Int) { value.withLock { $0 += seconds } }
    }

    private func withPlace(_ body: (Place) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sessions-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try await body(Place(folder: folder))
    }

    private func cookie(_ session: Session, sessions: Sessions) -> [String] {
        [String(sessions.header(for: session).prefix { $0 != ";" })]
    }

    @Test("A session survives a restart, but not a change of the password")
    func restarted() async throws {
        try await withPlace { place in
            let sessions = try await place.sessions()
            let session = sessions.newSession(isLoggedIn: true)
            let (cookie, token) = (cookie(session, sessions: sessions), sessions.token(of: session))
            let again = try await place.sessions()
            #expect(again.session(cookies: cookie)?.id == session.id && again.isToken(token, of: session))
            for other in ["correct horse battery 2", nil] {
                let sessions = try await place.sessions(other)
                #expect(sessions.session(cookies: cookie) == nil && !sessions.isToken(token, of: session))
            }
        }
    }

    @Test("A session expires after thirty days and cannot be extended")
    func expired() async throws {
        try await withPlace { place in
            let sessions = try await place.sessions()
            let session = sessions.newSession(isLoggedIn: true)
            let cookie = cookie(session, sessions: sessions)
            place.time.advance(30 * 86_400 - 1)
            #expect(sessions.session(cookies: cookie) != nil)
            place.time.advance(1)
            #expect(sessions.session(cookies: cookie) == nil)
            let longer = cookie[0].replacing(".\(session.expires).", with: ".\(session.expires + 86_400).")
            #expect(longer != cookie[0] && sessions.session(cookies: [longer]) == nil)
        }
    }

    @Test("An ended session stays ended after a restart, and others continue")
    func ended() async throws {
        try await withPlace { place in
            let sessions = try await place.sessions()
            let both = (0..<2).map { _ in sessions.newSession(isLoggedIn: true) }
            let cookies = both.map { cookie($0, sessions: sessions) }
            try await sessions.end(both[0])
            #expect(sessions.session(cookies: cookies[0]) == nil && sessions.session(cookies: cookies[1]) != nil)
            let again = try await place.sessions()
            #expect(again.session(cookies: cookies[0]) == nil && again.session(cookies: cookies[1]) != nil)
            // Sessions that would have expired are not kept in the list.
            place.time.advance(30 * 86_400)
            try await again.end(again.newSession(isLoggedIn: true))
            #expect(try await place.settings().get(.endedSessions).count == 1)
        }
    }

    @Test("All sessions end on request, or when too many were ended")
    func all() async throws {
        try await withPlace { place in
            let sessions = try await place.sessions()
            for isTooMany in [false, true] {
                let session = sessions.newSession(isLoggedIn: true)
                let cookie = cookie(session, sessions: sessions)
                if isTooMany {
                    let expires = session.expires
                    try await place.settings().set(
                        Dictionary(uniqueKeysWithValues: (0...Sessions.maxEnded).map { ("\($0)", expires) }),
                        for: .endedSessions)
                    try await sessions.end(sessions.newSession(isLoggedIn: true))
                } else {
                    try await sessions.endAll()
                }
                #expect(sessions.session(cookies: cookie) == nil)
                #expect(try await place.sessions().session(cookies: cookie) == nil)
                #expect(try await place.settings().get(.endedSessions).isEmpty)
            }
        }
    }

    @Test("The secret is created once, has 32 bytes, and is not in the database")
    func secret() async throws {
        try await withPlace { place in
            _ = try await place.sessions()
            let secret = try await place.settings().get(.sessionSecret)
            _ = try await place.sessions()
            #expect(secret.count == 32)
            #expect(try await place.settings().get(.sessionSecret) == secret)
            let names = try #require(FileManager.default.enumerator(atPath: place.folder.path)?.allObjects as? [String])
            #expect(names.contains("state/secrets") && names.contains("journal.sqlite"))
            for name in names {
                let bytes = try? Data(contentsOf: place.folder.appending(path: name))
                #expect(bytes?.firstRange(of: secret) == nil, "\(name)")
            }
        }
    }

    @Test("Forged cookies are not sessions")
    func forged() async throws {
        try await withPlace { place in
            let sessions = try await place.sessions()
            let session = sessions.newSession(isLoggedIn: false)
            let cookie = cookie(session, sessions: sessions)[0]
            let code = cookie.split(separator: ".").last.map(String.init) ?? ""
            for text in [
                cookie.replacing("=out.", with: "=in."), "journal=", "journal=...", "journal=out.\(session.id).\(code)",
                "journal=out.\(session.id).0\(session.expires).\(code)", cookie + "0", String(cookie.dropLast()),
                "journal=in.x.99999999999999999999.\(code)",
            ] {
                #expect(sessions.session(cookies: [text]) == nil, "\(text)")
            }
            #expect(sessions.session(cookies: ["a=b; \(cookie)"]) == Session(session.text))
        }
    }

    @Test("A logout invalidates the cookie, and a global logout all cookies")
    func loggedOut() async throws {
        try await withWeb { options in
            options.password = "correct horse battery"
        } _: { subject in
            func login() async throws -> WebSubject {
                var web = try await subject.visiting("/login")
                let reply = try await web.post("/login", fields: [("password", "correct horse battery")])
                web.cookie = String(try #require(reply.header("Set-Cookie")).prefix { $0 != ";" })
                let page = try await web.get("/").text
                web.token = try #require(page.firstMatch(of: /data-token="([0-9a-f]{64})"/)).1.description
                return web
            }
            let (one, other, third) = (try await login(), try await login(), try await login())
            #expect(try await one.get("/settings").text.contains("Log out everywhere"))
            #expect(try await one.post("/logout").header("Location") == "/login")
            #expect(try await one.get("/").status == 303)
            #expect(try await other.get("/").status == 200)
            #expect(
                try await other.post("/logout/all", fields: [], headers: ["Origin": "http://evil.example"]).status
                    == 403)
            #expect(try await other.get("/").status == 200)
            #expect(try await other.post("/logout/all").status == 303)
            for web in [one, other, third] { #expect(try await web.get("/").status == 303) }
            #expect(try await login().get("/").status == 200)
        }
    }
}
