import Foundation
import Hummingbird
import LFSServer
import LFSSigningServer
import LFSSyncServer
import Logging
import Synchronization
import Testing

@testable import lfs_server

@Suite("Health of lfs-server", .timeLimit(.minutes(10)))
struct HealthTests {
    private let lines = LogLines()
    private var logger: Logger { Logger(label: "test") { [lines] _ in lines } }

    /// Returns a check that a busy machine cannot make fail.
    private func check(_ name: String, _ body: @escaping @Sendable () async throws -> Void) -> HealthCheck {
        HealthCheck(name, logger: logger, patience: .seconds(600), body)
    }

    /// Waits for an outcome. On a busy machine, a check has no outcome for some seconds and counts as failed.
    private func require(_ outcome: HealthCheck.Outcome, of check: HealthCheck) async throws {
        try await eventually {
            let present = await check.outcome()
            if case .failed(let message) = present, message.hasPrefix("No answer") { return false }
            #expect(present == outcome)
            return true
        }
    }

    @Test func `Concurrent and later probes share one run of a check`() async throws {
        let count = Count()
        let check = HealthCheck("part", logger: logger, lifetime: .seconds(600), patience: .seconds(600)) {
            count.add()
            await Task.yield()
        }
        await withTaskGroup(of: HealthCheck.Outcome.self) { group in
            for _ in 0..<20 { group.addTask { await check.outcome() } }
            for await outcome in group { #expect(outcome == .passed) }
        }
        #expect(await check.outcome() == .passed && count.value == 1)
        let short = HealthCheck("part", logger: logger, lifetime: .zero, patience: .seconds(600)) { count.add() }
        for _ in 0..<3 { _ = await short.outcome() }
        #expect(count.value == 4)
    }

    @Test func `A check that hangs fails without a second run, and passes when it ends`() async throws {
        let count = Count()
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let check = HealthCheck("part", logger: logger, lifetime: .seconds(600), patience: .milliseconds(1)) {
            count.add()
            for await _ in gate {}
        }
        for _ in 0..<3 { #expect(await check.outcome() == .failed(message: "No answer within 0 seconds.")) }
        opening.finish()
        try await eventually { await check.outcome() == .passed }
        #expect(count.value == 1)
        #expect(lines.all.withLock { $0.map(\.message) } == ["A health check fails.", "A health check passes again."])
    }

    @Test func `A failed check makes the server unready and is named in the reply`() async throws {
        let readiness = Readiness(checks: [
            check("database") { throw SQLFailure(.unavailable, message: "host=secret.example") },
            check("disk") { throw HealthFailure(message: "Full.") }, check("storage") {},
        ])
        let router = Router(context: ServerContext.self)
        readiness.addRoutes(to: router)
        try await serving(router) { server in
            let reply = try await server.send("GET", path: "/health/ready")
            #expect(reply.status == 503 && reply.headers["content-type"] == "application/json")
            let report = try JSONDecoder().decode(Readiness.Report.self, from: reply.body)
            #expect(report.checks.mapValues(\.status) == ["database": "failed", "disk": "failed", "storage": "ok"])
            #expect(report.status == "unready" && report.checks["disk"]?.message == "Full.")
            // The details are for the log only.
            #expect(!reply.text.contains("secret"))
            for path in ["/health", "/health/live"] {
                let live = try await server.send("GET", path: path)
                #expect(live.status == 200 && live.text == "ok\n")
            }
        }
        let errors = lines.all.withLock { $0 }.compactMap { $0.metadata["error"].map { "\($0)" } }
        #expect(errors == ["unavailable: host=secret.example"])
    }

    @Test func `A server with all checks passing is ready`() async throws {
        let router = Router(context: ServerContext.self)
        Readiness(checks: [check("database") {}]).addRoutes(to: router)
        try await serving(router) { server in
            let reply = try await server.send("GET", path: "/health/ready")
            #expect(reply.status == 200)
            let report = try JSONDecoder().decode(Readiness.Report.self, from: reply.body)
            #expect(report.isReady && report.checks["database"]?.status == "ok")
        }
    }

    @Test func `The database check fails after the database was closed`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "rows.sqlite").path)
            let check = HealthCheck.database(database, logger: logger)
            try await require(.passed, of: check)
            await database.close()
            #expect(await HealthCheck.database(database, logger: logger).outcome() != .passed)
        }
    }

    @Test func `Missing tables fail the check of the migrations`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "rows.sqlite").path)
            let store = try SyncStore(database, schema: SyncSchema())
            try await require(
                .failed(message: "The database lacks tables or columns. Restart the server."),
                of: HealthCheck.migrations(store, logger: logger))
            try await store.migrate()
            try await require(.passed, of: HealthCheck.migrations(store, logger: logger))
            await database.close()
        }
    }

    @Test func `Tables of a newer schema do not fail the check of the migrations`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "rows.sqlite").path)
            try await SyncStore(database, schema: .uploader).migrate()
            let older = try SyncStore(database, schema: SyncSchema())
            try await require(.passed, of: HealthCheck.migrations(older, logger: logger))
            await database.close()
        }
    }

    @Test func `A database that needs a newer server fails the check of the migrations`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "rows.sqlite").path)
            let store = try SyncStore(database, schema: SyncSchema())
            try await store.migrate()
            let change = "UPDATE sync_state SET schemaVersion = schemaVersion + 1"
            try await database.write { try $0.run(script: change) }
            try await require(.passed, of: HealthCheck.migrations(store, logger: logger))
            try await database.write { try $0.run(script: change + ", oldestVersion = oldestVersion + 1") }
            try await require(
                .failed(message: "The database needs a newer server."),
                of: HealthCheck.migrations(store, logger: logger))
            await database.close()
        }
    }

    @Test func `A disk below the reserve fails its check`() async throws {
        let disk = DiskSpace(name: "storage", path: FileManager.default.temporaryDirectory.path)
        try await require(.passed, of: HealthCheck.disk([disk], reserve: 1, logger: logger))
        try await require(
            .failed(message: "The disk of the storage has less free space than --reserve."),
            of: HealthCheck.disk([disk], reserve: .max, logger: logger))
        let missing = DiskSpace(name: "storage", path: "/nowhere/at/all")
        #expect(await HealthCheck.disk([missing], reserve: 1, logger: logger).outcome() != .passed)
    }

    @Test func `A server is unready while its storage folder is away`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let objects = folder.appending(path: "objects")
            let away = folder.appending(path: "away")
            let arguments = [
                "--database", folder.appending(path: "rows.sqlite").path, "--storage", "dir:\(objects.path)",
                "--listen", "127.0.0.1:0", "--url", "http://127.0.0.1/lfs", "--reserve", "1KiB",
            ]
            try await ServerProcess.run(in: folder, arguments: arguments) { process in
                let server = try #require(try process.listeners().first)
                func report() async throws -> (status: Int, Readiness.Report) {
                    let reply = try await server.send("GET", path: "/health/ready")
                    return (reply.status, try JSONDecoder().decode(Readiness.Report.self, from: reply.body))
                }
                let (status, ready) = try await report()
                #expect(status == 200)
                #expect(ready.checks.keys.sorted() == ["database", "disk", "migrations", "storage"])
                try FileManager.default.moveItem(at: objects, to: away)
                // The check of the disk may fail first.
                try await eventually { try await report().1.checks["storage"]?.status == "failed" }
                #expect(try await report().status == 503)
                #expect(try await server.send("GET", path: "/health/live").status == 200)
                try FileManager.default.moveItem(at: away, to: objects)
                try await eventually { try await report().status == 200 }
            }
        }
    }
}
