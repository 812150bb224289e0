import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Sessions and accounts", .timeLimit(.minutes(10)))
struct SessionTests {
    private func status(_ server: TestServer, token: String?) async throws -> Int {
        let request = SyncStreamRequest(types: TestServer.types.map { [$0] })
        return await server.service.stream(try WireFormat.encode(request), token: token).status
    }

    @Test("A missing, wrong, revoked or expired token is refused")
    func tokens() async throws {
        let clock = ManualClock()
        try await TestServer.run(options: clock.options) { server in
            let device = try await server.device()
            let short = try await server.service.addSession(
                account: "ann", device: "tablet", lifetime: .seconds(86_400))
            for token in [device.token, short] { #expect(try await status(server, token: token) == 200) }
            for wrong in [nil, "", "lfss_x", String(device.token.dropLast()), device.token + "=", "' OR 1=1 --"] {
                #expect(try await status(server, token: wrong) == 401)
            }
            let sessions = try await server.service.sessions(account: "ann")
            #expect(sessions.map(\.device) == ["", "tablet"])
            #expect(try await status(server, token: sessions[0].id) == 401)
            clock.advance(days: 1.1)
            #expect(try await status(server, token: device.token) == 200)
            #expect(try await status(server, token: short) == 401)
            #expect(try await server.service.account(ofToken: short) == nil)
            try await server.service.prune()
            #expect(try await server.service.sessions().map(\.id) == [sessions[0].id])
            #expect(try await server.service.removeSession(sessions[0].id))
            #expect(try await !server.service.removeSession(sessions[0].id))
            #expect(try await status(server, token: device.token) == 401)
        }
    }

    @Test("All sessions of an account are revoked together, and those of others stay")
    func revokedTogether() async throws {
        try await TestServer.run { server in
            let devices = [try await server.device(), try await server.device()]
            let bob = try await server.device(of: "bob")
            #expect(try await server.service.removeSessions(account: "ann") == 2)
            #expect(try await server.service.removeSessions(account: "ann") == 0)
            for device in devices { #expect(try await status(server, token: device.token) == 401) }
            #expect(try await status(server, token: bob.token) == 200)
        }
    }

    @Test("Expired sessions do not count against the session limit")
    func expired() async throws {
        let clock = ManualClock()
        var options = clock.options
        options.sessionLimit = 2
        try await TestServer.run(options: options) { server in
            for _ in 0..<2 {
                _ = try await server.service.addSession(account: "ann", lifetime: .seconds(86_400))
            }
            _ = try await server.service.addSession(account: "bob", lifetime: .seconds(86_400))
            await #expect(throws: SyncSessionError.self) { try await server.service.addSession(account: "ann") }
            clock.advance(days: 1.1)
            _ = try await server.service.addSession(account: "ann")
            #expect(try await server.service.sessions().map(\.account) == ["ann", "bob"])
        }
    }

    @Test("A session revoked during a stream ends it with an error and without further rows")
    func revoked() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO recipe (id, title, scopeID)
                SELECT 'n' || i, '\(String(repeating: "x", count: 200))', '\(scope)' FROM n
                """)
            let request = try WireFormat.encode(SyncStreamRequest(types: TestServer.types.map { [$0] }))
            guard case .stream(let stream) = await server.service.stream(request, token: device.token).body else {
                return
            }
            var pieces = stream.makeAsyncIterator()
            _ = try await pieces.next()
            let id = try #require(try await server.service.sessions().first).id
            #expect(try await server.service.removeSession(id))
            var rest = ""
            while let piece = try await pieces.next() { rest += String(decoding: piece, as: UTF8.self) }
            #expect(rest.hasPrefix("{\"type\":\"SyncErrorV1\"") && rest.contains("unauthorized"))
        }
    }

    @Test("A session has the first and the last contact of each type")
    func contacts() async throws {
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        let clock = ManualClock()
        var options = SyncServiceOptions()
        options.now = { start.addingTimeInterval(clock.passed) }
        try await TestServer.run(options: options) { server in
            let device = try await server.device()
            #expect(try await server.service.sessions().map(\.contacts) == [[]])
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.sync()
            let types = ["CommentV1", "FileV1", "RecipeV2", "StepV1"]
            let first = try #require(try await server.service.sessions().first).contacts
            #expect(first == types.map { .init(type: $0, firstAt: start, lastAt: start) })
            clock.advance(days: 1)
            // A stream without new rows does not count as a contact.
            try await device.sync()
            #expect(try await server.service.sessions().first?.contacts == first)
            try await device.put("StepV1", key: "s1", values: ["recipeID": .text("r1")])
            try await device.sync()
            let later = start.addingTimeInterval(86_400)
            let second = try #require(try await server.service.sessions(account: "ann").first).contacts
            #expect(second.filter { $0.lastAt == later }.map(\.type).contains("StepV1"))
            #expect(second.allSatisfy { $0.firstAt == start })
            clock.advance(days: 1)
            let body = try WireFormat.encode(SyncForgetRequest(types: [try #require(SyncType("RecipeV2"))]))
            #expect(await server.service.forget(body, token: device.token).status == 204)
            let third = try #require(try await server.service.sessions().first).contacts
            #expect(third.first { $0.type == "RecipeV2" }?.lastAt == start.addingTimeInterval(2 * 86_400))
            // A row from an earlier version of the server has no times.
            try await server.execute("UPDATE sync_checkpoint SET createdAt = 0, updatedAt = 0")
            let none = try #require(try await server.service.sessions().first).contacts
            #expect(none == types.map { .init(type: $0, firstAt: nil, lastAt: nil) })
        }
    }

    @Test("The database stores only the hash of a token")
    func hashed() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let secret = device.token.dropFirst(5)
            #expect(try await server.text("SELECT tokenHash FROM sync_session")?.count == 64)
            #expect(
                try await server.count(
                    "sync_session", where: "id || name || tokenHash || lastBatchID LIKE '%\(secret)%'") == 0)
        }
    }

    @Test("A token is looked up only by its hash")
    func lookedUp() async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            let hash = try #require(try await server.text("SELECT tokenHash FROM sync_session"))
            database.clear()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("x")])
            try await device.sync()
            #expect(try await status(server, token: device.token) == 200)
            #expect(database.texts.contains(hash))
            let secret = device.token.dropFirst(5)
            for start in stride(from: 0, to: secret.count - 8, by: 8) {
                let part = secret.dropFirst(start).prefix(8)
                #expect(
                    !database.texts.contains { $0.contains(part) }
                        && !database.statements.contains {
                            $0.contains(part)
                        })
            }
            // Neither a nearly equal hash nor the hash itself is accepted as a token.
            for wrong in [hash, "lfss_" + hash, String(hash.dropLast())] {
                #expect(try await status(server, token: wrong) == 401)
            }
        }
    }

    @Test("The list of sessions shows the last use to the day")
    func seen() async throws {
        let clock = ManualClock()
        try await TestServer.run(options: clock.options) { server in
            let device = try await server.device()
            clock.advance(days: 0.5)
            try await device.sync()
            let first = try #require(try await server.service.sessions().first)
            #expect(first.seenAt == first.createdAt)
            clock.advance(days: 1)
            try await device.sync()
            let second = try #require(try await server.service.sessions().first)
            #expect(second.seenAt.timeIntervalSince(second.createdAt) > 86_400)
        }
    }

    @Test("A removed account leaves no rows, sessions or shared content")
    func account() async throws {
        try await SharingServer.run { server in
            let (ann, bob, cat) = (
                try await server.person("ann"), try await server.person("bob"), try await server.person("cat")
            )
            for person in [ann, bob, cat] { try await person.file(person.name) }
            try await ann.device.put("NoteV1", key: "n", values: ["fileID": .text("ann")])
            try await ann.album("mine")
            try await ann.share("mine", other: bob)
            try await bob.album("x")
            try await bob.share("x", other: ann, role: "editor")
            try await bob.share("x", other: cat)
            try await ann.link("x", file: "ann")
            try await ann.letRead(cat)
            try await cat.letRead(ann)
            for person in [ann, bob, cat] { try await person.sync() }
            #expect(cat.has("album/x").contains("File ann"))
            #expect(try await server.service.removeAccount(named: "ann"))
            #expect(try await !server.service.removeAccount(named: "ann"))
            let gone = "scopeID = 'account/\(ann.id)'"
            for table in ["lfs_file", "album", "album_user", "note", "partner", "sync_tombstone", "sync_grant"] {
                #expect(try await server.count(table, where: gone) == 0, "\(table)")
            }
            #expect(try await server.count("sync_scope", where: "id IN ('album/mine', 'account/\(ann.id)')") == 0)
            #expect(try await server.count("sync_grant", where: "accountID = '\(ann.id)'") == 0)
            #expect(try await status(server, token: ann.device.token) == 401)
            try await cat.sync()
            #expect(cat.has("account/\(ann.id)") == [] && cat.has() == ["File cat"])
            #expect(cat.has("album/x") == ["Album x", "AlbumUser x-cat"])
            #expect(try await bob.sync().contains("!album/mine"))
            // The key prefix of the removed account stays reserved.
            #expect(
                try await bob.device.put(
                    "FileV1", key: "f",
                    values: [
                        "byteCount": .integer(1), "sha256": .text("a"), "key": .text("ann/2"),
                        "createdAt": .text("2026"),
                        "status": .text("local"),
                    ]
                ).outcome.code == "forbidden")
        }
    }

    @Test(
        "Text in names and values is never executed as SQL",
        arguments: ["'; DROP TABLE recipe; --", "\" OR \"\"=\"", "%00", "\\'"])
    func injection(_ text: String) async throws {
        try await TestServer.run { server in
            let token = try await server.service.addSession(account: text, device: text)
            let device = TestDevice(service: server.service, token: token)
            #expect(try await device.put("RecipeV2", key: "r1", values: ["title": .text(text)]).outcome.isApplied)
            #expect(try await device.delivery().rows.first?["title"] == .text(text))
            #expect(try await server.service.sessions(account: text).first?.device == text)
            let outcome = try await device.put("RecipeV2", key: "r2", values: ["title' = '": .text(text)]).outcome
            #expect(outcome.code == "unknown_column")
        }
    }
}
