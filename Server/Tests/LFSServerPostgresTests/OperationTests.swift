import Foundation
import LFSServerPostgres
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Concurrency and recovery of a server on PostgreSQL", .timeLimit(.minutes(10)))
struct OperationTests {
    private func runSharing(
        _ options: SyncServiceOptions = SyncServiceOptions(), _ body: (PostgresCase) async throws -> Void
    ) async throws {
        try await TestStore.run { url, schema in
            let database = try TestStore.database(url)
            let service = try await SyncService(database, schema: SharingServer.schema, options: options)
            let server = TestServer(database: database, service: service)
            try await body(PostgresCase(url: url, schema: schema, database: database, server: server))
            await database.close()
        }
    }

    private static func link(_ person: Person, album: String, file: String) throws -> Data {
        var bytes: [UInt8] = []
        let sequence = person.device.sequence + 1
        SyncMutation(
            id: "link", sequence: sequence, type: try #require(SyncType("AlbumFileV1")), operation: .put,
            key: "\(album)-\(file)", row: SyncRow(["albumID": .text(album), "fileID": .text(file)])
        ).write(to: &bytes)
        return Data(bytes)
    }

    @Test("Two pushes in a deadlock are both applied, each with one result")
    func deadlock() async throws {
        try await runSharing { run in
            let server = run.server
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for (owner, other, album) in [(ann, bob, "x"), (bob, ann, "y")] {
                try await owner.file("f\(owner.name)")
                try await owner.album(album)
                try await owner.share(album, other: other, role: "editor")
            }
            // Each transaction locks its own account, and pauses before it locks the other one.
            try await server.execute(
                """
                CREATE SEQUENCE tries;
                CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM nextval('tries');
                    PERFORM pg_advisory_xact_lock_shared(hashtext(current_schema()));
                    RETURN NEW;
                END $$;
                CREATE TRIGGER a_pause BEFORE INSERT ON album_file FOR EACH ROW EXECUTE FUNCTION pause();
                """)
            let pause = try await run.hold("SELECT pg_advisory_xact_lock(hashtext(current_schema()))")
            let bodies = [try Self.link(ann, album: "y", file: "fann"), try Self.link(bob, album: "x", file: "fbob")]
            let tokens = [ann.device.token, bob.device.token]
            let service = server.service
            async let first = service.push(bodies[0], token: tokens[0])
            async let second = service.push(bodies[1], token: tokens[1])
            try await run.awaitWaiting(2)
            try await pause.commit()
            for reply in [await first, await second] {
                #expect(reply.status == 200)
                let text = String(decoding: try await TestDevice.bytes(reply), as: UTF8.self)
                #expect(text.split(separator: "\n").count == 1 && text.contains("\"result\":\"applied\""), "\(text)")
            }
            #expect(try await server.text("SELECT (last_value >= 3) || '' FROM tries") == "true")
            #expect(try await server.count("album_file") == 2)
            #expect(try await server.count("sync_mutation", where: "id = 'link'") == 2)
            // A repeated push is not applied again.
            #expect(await service.push(bodies[0], token: tokens[0]).status == 200)
            #expect(try await server.count("album_file") == 2)
        }
    }

    @Test("Two servers remove each due object from the storage only once")
    func removals() async throws {
        var options = SyncServiceOptions()
        options.removalDelay = .zero
        try await runSharing(options) { run in
            let ann = try await run.server.person("ann")
            for key in ["f1", "f2", "f3"] {
                try await ann.file(key)
                try await ann.delete("FileV1", key: key)
            }
            let service = run.server.service
            let asked = Mutex<[String]>([])
            let remove: @Sendable (String, String) async throws -> Bool = { key, _ in
                asked.withLock { $0.append(key) }
                // The rows stay while the other server takes what it can.
                while try await run.waitingCount() > 0 { try Task.checkCancellation() }
                return true
            }
            // Both servers can read the rows, and both wait before they take one.
            let lock = try await run.hold("SELECT 1 FROM sync_removal FOR UPDATE")
            async let first = service.removeObjects(remove)
            async let second = service.removeObjects(remove)
            try await run.awaitWaiting(2)
            try await lock.rollback()
            #expect(try await first + second == 3)
            #expect(asked.withLock { $0.sorted() } == ["ann/f1", "ann/f2", "ann/f3"])
            #expect(try await run.server.count("sync_removal") == 0)
        }
    }

    @Test("A slow device holds no snapshot and no transaction between pages")
    func snapshots() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            try await run.server.fill(2_500, bytes: 200)
            var stream = try await device.open()
            for _ in 1...2 {
                _ = try await stream.next()
                let holding = try await run.server.text(
                    """
                    SELECT count(*) || '' FROM pg_stat_activity WHERE application_name = '\(run.schema)'
                        AND pid <> pg_backend_pid() AND query !~ 'sync_(listen|notify)'
                        AND (backend_xmin IS NOT NULL OR xact_start IS NOT NULL)
                    """)
                #expect(holding == "0")
            }
            var rest = ""
            while let piece = try await stream.next() { rest += String(decoding: piece, as: UTF8.self) }
            #expect(rest.contains("SyncCompleteV1"))
        }
    }

    @Test("A statement that exceeds its timeout ends its stream with an error")
    func timeout() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            try await run.server.fill(10, bytes: 10)
            var options = PostgresOptions.patient
            options.statementTimeout = .seconds(5)
            let database = try TestStore.database(run.url, options: options)
            let service = try await SyncService(database, schema: TestServer.schema)
            let slow = TestDevice(service: service, token: device.token)
            var stream = try await slow.open()
            // The lock prevents every read of the table.
            let lock = try await run.hold("LOCK TABLE recipe IN ACCESS EXCLUSIVE MODE")
            var text = ""
            while let piece = try await stream.next() { text += String(decoding: piece, as: UTF8.self) }
            let last = try #require(text.split(separator: "\n").last)
            #expect(last.contains("SyncErrorV1") && last.contains("\"code\":\"unavailable\""), "\(last)")
            try await lock.rollback()
            #expect(try await slow.sync().count == 10)
            await database.close()
        }
    }

    /// Runs a body with a server whose statements have a time limit of three seconds, while another transaction holds
    /// the rows of Ann's account for longer.
    private func runSlow<Value: Sendable>(
        _ body: @escaping @Sendable (SyncService) async throws -> Value, check: (Value) async throws -> Void
    ) async throws {
        try await PostgresCase.run { run in
            _ = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            var options = PostgresOptions.patient
            options.statementTimeout = .seconds(3)
            let database = try TestStore.database(run.url, options: options)
            let service = try await SyncService(database, schema: TestServer.schema)
            let lock = try await run.hold("SELECT 1 FROM sync_scope WHERE id = '\(scope)' FOR UPDATE")
            let hasEnded = Mutex(false)
            async let value: Value = {
                defer { hasEnded.withLock { $0 = true } }
                return try await body(service)
            }()
            let late = """
                application_name = '\(run.schema)' AND wait_event_type = 'Lock'
                    AND clock_timestamp() - query_start > interval '4 seconds'
                """
            while !hasEnded.withLock({ $0 }), try await run.server.count("pg_stat_activity", where: late) == 0 {}
            try await lock.rollback()
            try await check(try await value)
            await database.close()
        }
    }

    @Test("The removal of an account may take longer than other statements")
    func slowRemoval() async throws {
        try await runSlow {
            try await $0.removeAccount(named: "ann")
        } check: {
            #expect($0)
        }
    }

    @Test("A recount of an account may take longer than other statements")
    func slowRecount() async throws {
        try await runSlow {
            try await $0.recount(account: "ann")
        } check: {
            #expect($0 == 0)
        }
    }

    @Test("Concurrent requests for sessions do not exceed their limit", arguments: [false, true])
    func sessionLimit(exists: Bool) async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 3
        try await runSharing(options) { run in
            let service = run.server.service
            if exists {
                let token = try await service.addSession(account: "ann")
                #expect(try await service.endSession(token: token))
            }
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 1...20 {
                    group.addTask {
                        do {
                            _ = try await service.addSession(account: "ann")
                            return true
                        } catch let error as SyncSessionError where error.code == .tooMany {
                            return false
                        }
                    }
                }
                var count = 0
                for try await isAdded in group where isAdded { count += 1 }
                return count
            }
            #expect(count == 3)
            #expect(try await service.sessions(account: "ann").count == 3)
        }
    }

    @Test("Positions continue after the known ones when a dump is restored elsewhere")
    func restored() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            for number in 1...3 {
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
            }
            try await device.push(.delete, type: "RecipeV2", key: "r2")
            let delivery = try await device.delivery()
            try await device.acknowledge(delivery.tokens)
            let name = "\(run.schema)x"
            let endpoint = try #require(TestStore.endpoint)
            let dump = FileManager.default.temporaryDirectory.appending(path: "\(name).sql")
            defer { try? FileManager.default.removeItem(at: dump) }
            try PostgresTool.dump(run.schema, to: dump)
            try PostgresTool.run("psql", arguments: ["--quiet", "--command", "CREATE DATABASE \(name)", endpoint])
            let other = endpoint.replacing("/postgres?", with: "/\(name)?").replacing(
                /\/postgres$/, with: "/\(name)")
            #expect(other != endpoint)
            try PostgresTool.run(
                "psql", arguments: ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump.path, other])
            let database = try PostgresDatabase(
                url: "\(other)?options=-csearch_path%3D\(run.schema)", options: .patient)
            // The new server does not modify the restored schema.
            let service = try await SyncService(database, schema: TestServer.schema)
            let there = TestDevice(service: service, token: device.token)
            there.batch = device.batch
            there.sequence = device.sequence
            #expect(try await there.sync() == [])
            try await there.put("RecipeV2", key: "r4", values: ["title": .text("Soup")])
            try await there.push(.delete, type: "RecipeV2", key: "r1")
            let next = try await there.delivery()
            #expect(next.items == ["Recipe r4", "-Recipe r1"])
            let last = try #require(delivery.tokens.map(\.position).max())
            #expect(next.tokens.map(\.position).filter { $0 > .start }.allSatisfy { $0 > last })
            await database.close()
            try PostgresTool.run("psql", arguments: ["--quiet", "--command", "DROP DATABASE \(name)", endpoint])
        }
    }

    @Test("Every synced table has all of its triggers and the index of its positions")
    func complete() async throws {
        try await runSharing { run in
            for table in ["lfs_file"] + SharingServer.schema.tables.map(\.name) {
                for trigger in [
                    "zz_sync_stamp", "zz_sync_restamp", "sync_insert", "sync_update", "sync_delete", "sync_truncate",
                ] {
                    let count = try await run.server.count(
                        "pg_trigger",
                        where: "tgrelid = '\(table)'::regclass AND tgname = '\(trigger)' AND tgenabled = 'A'")
                    #expect(count == 1, "\(table) \(trigger)")
                }
                let index = try await run.server.text(
                    """
                    SELECT indexdef FROM pg_indexes
                    WHERE schemaname = current_schema() AND indexname = 'sync_\(table)_position'
                    """)
                #expect(index?.lowercased().hasSuffix("(scopeid, updateid)") == true, "\(index ?? "none")")
            }
        }
    }
}
