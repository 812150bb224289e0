import Foundation
import Logging
import Testing

@testable import LFSServerPostgres
@testable import LFSSyncServer
@testable import LFSWire

/// Two servers on one database that never poll during a test.
struct TwoServers: Sendable {
    let schema: String
    let one: TestServer
    let two: TestServer
    /// The database of the second server.
    let watched: WatchedDatabase
    /// A connection of another program.
    let other: PostgresDatabase

    private static let times = LiveTimes(
        poll: .seconds(86_400), repair: .seconds(86_400), heartbeat: .seconds(86_400))

    static func run(_ body: (TwoServers) async throws -> Void) async throws {
        try await TestStore.run { url, schema in
            let databases = try (0..<3).map { _ in try TestStore.database(url) }
            let watched = WatchedDatabase(databases[1])
            try await body(
                TwoServers(
                    schema: schema, one: try await server(databases[0]), two: try await server(watched),
                    watched: watched, other: databases[2]))
            for database in databases { await database.close() }
        }
    }

    private static func server(_ database: any SQLDatabase) async throws -> TestServer {
        let service = try await SyncService(
            database, schema: TestServer.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
            times: times)
        return TestServer(database: database, service: service)
    }

    /// Opens a live stream of a device on the second server, and reads its beginning.
    func open(_ device: TestDevice) async throws -> SyncStream.Iterator {
        var stream = try await TestDevice(service: two.service, token: device.token).open(isLive: true)
        #expect(try await text(stream.next()).contains("SyncCompleteV1"))
        return stream
    }

    func text(_ piece: [UInt8]?) throws -> String { String(decoding: try #require(piece), as: UTF8.self) }

    /// Runs a statement as another program.
    func execute(_ sql: String) async throws { try await other.write { try $0.run(script: sql) } }
}

@Suite("Notices between servers on PostgreSQL", .timeLimit(.minutes(10)))
struct NoticeTests {
    private static let soup: [String: SyncValue] = ["title": .text("Soup")]

    @Test("Pushes on one server reach a stream on another without a poll")
    func pushes() async throws {
        try await TwoServers.run { servers in
            let device = try await servers.one.device()
            var stream = try await servers.open(try await servers.one.device())
            for number in 1...20 {
                try await device.put("RecipeV2", key: "r\(number)", values: Self.soup)
                #expect(try await servers.text(stream.next()).contains("\"id\":\"r\(number)\""))
            }
        }
    }

    @Test("A push wakes no stream of another account on another server")
    func others() async throws {
        try await TwoServers.run { servers in
            let ann = try await servers.one.device()
            let bob = try await servers.one.device(of: "bob")
            let scope = try await servers.one.scope(of: "bob")
            var stream = try await servers.open(ann)
            var idle = try await servers.open(bob)
            let waiting = Task { try await idle.next() }
            // The first look at the sessions may still be running.
            repeat {
                servers.watched.clear()
                try await ann.put("RecipeV2", key: "r1", values: ["title": .text("\(ann.sequence)")])
                #expect(try await servers.text(stream.next()).contains("\"id\":\"r1\""))
            } while servers.watched.statements.contains { $0.contains("FROM sync_session e") }
            servers.watched.clear()
            for number in 1...20 {
                try await ann.put("RecipeV2", key: "r1", values: ["title": .text("Soup \(number)")])
                #expect(try await servers.text(stream.next()).contains("Soup \(number)\""))
            }
            #expect(!servers.watched.statements.contains { $0.contains("FROM sync_session e") })
            #expect(!servers.watched.texts.contains(String(scope.dropFirst("account/".count))))
            try await bob.put("RecipeV2", key: "r2", values: Self.soup)
            #expect(try await servers.text(waiting.value).contains("\"id\":\"r2\""))
        }
    }

    @Test("A newer stream of a session ends the older one on another server")
    func replaced() async throws {
        try await TwoServers.run { servers in
            let device = try await servers.one.device()
            var older = try await servers.open(device)
            var newer = try await device.open(isLive: true)
            #expect(try await servers.text(newer.next()).contains("SyncCompleteV1"))
            #expect(try await servers.text(older.next()).contains("\"code\":\"replaced\""))
            // The newer one continues.
            try await device.put("RecipeV2", key: "r1", values: Self.soup)
            #expect(try await servers.text(newer.next()).contains("\"id\":\"r1\""))
        }
    }

    @Test("Rows and access that another program changes reach a stream without a poll")
    func programs() async throws {
        try await TwoServers.run { servers in
            let ann = try await servers.one.device()
            let bob = try await servers.one.device(of: "bob")
            try await bob.put("RecipeV2", key: "r1", values: Self.soup)
            let scope = try await servers.one.scope(of: "bob")
            let own = try await servers.one.scope(of: "ann")
            let account = own.dropFirst("account/".count)
            var stream = try await servers.open(ann)
            for number in 1...3 {
                try await servers.execute(
                    "INSERT INTO sync_grant (scopeID, accountID, role) VALUES ('\(scope)', '\(account)', 'viewer')")
                #expect(try await servers.text(stream.next()).contains("\"id\":\"r1\""))
                try await servers.execute(PostgresCase.recipe("a\(number)", scope: scope))
                #expect(try await servers.text(stream.next()).contains("\"id\":\"a\(number)\""))
                try await servers.execute(
                    "DELETE FROM sync_grant WHERE scopeID = '\(scope)' AND accountID = '\(account)'")
                #expect(try await servers.text(stream.next()).contains("ScopeDeleteV1"))
            }
            try await servers.execute("DELETE FROM sync_session WHERE accountID = '\(account)'")
            #expect(try await servers.text(stream.next()).contains("\"code\":\"unauthorized\""))
        }
    }

    @Test("A transaction that changes more scopes than a message can name wakes all streams")
    func many() async throws {
        try await TwoServers.run { servers in
            let ann = try await servers.one.device()
            for number in 1...200 { _ = try await servers.one.service.addSession(account: "a\(number)") }
            var stream = try await servers.open(ann)
            // The first server observes the database, so it collects the notices of the transaction.
            try await ann.put("RecipeV2", key: "r0", values: Self.soup)
            #expect(try await servers.text(stream.next()).contains("\"id\":\"r0\""))
            try await servers.one.execute(
                "INSERT INTO recipe (id, title, scopeID) SELECT s.id, 'Soup', s.id FROM sync_scope s ORDER BY s.id DESC"
            )
            #expect(try await servers.text(stream.next()).contains("\"title\":\"Soup\""))
        }
    }

    @Test("A server whose connection for notices has ended finds what it has missed")
    func lost() async throws {
        try await TwoServers.run { servers in
            let device = try await servers.one.device()
            var stream = try await servers.open(try await servers.one.device())
            for number in 1...5 {
                try await servers.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = '\(servers.schema)' AND query ~ 'sync_(listen|notify)'
                        AND pid <> pg_backend_pid()
                    """)
                try await device.put("RecipeV2", key: "r\(number)", values: Self.soup)
                #expect(try await servers.text(stream.next()).contains("\"id\":\"r\(number)\""))
            }
        }
    }

    @Test("A store of an earlier server receives the triggers for notices")
    func earlier() async throws {
        try await TwoServers.run { servers in
            let objects = try await servers.one.text("SELECT count(*) || '' FROM sync_object WHERE name ~ 'notice'")
            try await servers.execute(
                """
                DROP FUNCTION sync_notice() CASCADE; DROP FUNCTION sync_listen(); DROP FUNCTION sync_notify(text);
                DELETE FROM sync_object WHERE name ~ 'notice|sync_listen|sync_notify';
                """)
            let store = try SyncStore(servers.other, schema: TestServer.schema)
            try await store.migrate()
            #expect(try await store.pending() == [])
            let now = try await servers.one.text("SELECT count(*) || '' FROM sync_object WHERE name ~ 'notice'")
            #expect(objects == now && now == "5")
            let device = try await servers.one.device()
            var stream = try await servers.open(try await servers.one.device())
            try await device.put("RecipeV2", key: "r1", values: Self.soup)
            #expect(try await servers.text(stream.next()).contains("\"id\":\"r1\""))
        }
    }

    @Test("A task runs on one of two servers at a time")
    func tasks() async throws {
        try await TwoServers.run { servers in
            let (one, two) = (servers.one.service, servers.two.service)
            for _ in 0..<2 {
                let others = try await one.runAlone("prune") {
                    [
                        try await two.runAlone("prune") { "again" }, try await one.runAlone("prune") { "again" },
                        try await two.runAlone("sweep") { "other" },
                    ]
                }
                #expect(others == [nil, nil, "other"])
                #expect(try await two.runAlone("prune") { "later" } == "later")
            }
            // The lock ends with the connection of a server that has stopped.
            _ = try await one.runAlone("prune") {
                await servers.one.database.close()
                var isTaken = false
                while !isTaken { isTaken = try await two.runAlone("prune") { true } ?? false }
            }
        }
    }

    @Test("Messages name the changes up to a size, and all streams")
    func messages() {
        let rows = (1...100).map { ServerNotice.rows(scope: "account/\($0)") }
        let streams = (1...300).map { ServerNotice.stream(session: "session\($0)", id: "0123456789abcdef") }
        let few = NoticeExchange.messages(rows + streams.prefix(2))
        #expect(few.count == 1)
        #expect(few[0].split(separator: "\n").compactMap { ServerNotice(line: $0) } == rows + streams.prefix(2))
        let long = (1...2_000).map { ServerNotice.rows(scope: "account/\($0)") }
        let many = NoticeExchange.messages(long + streams)
        #expect(many.allSatisfy { $0.utf8.count < 8_000 } && many.count == 2)
        let found = many.flatMap { $0.split(separator: "\n") }.compactMap { ServerNotice(line: $0) }
        #expect(found == [.missed(cause: nil)] + streams)
    }
}
