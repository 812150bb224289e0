import Foundation
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync

/// The number of bytes between two cuts. `LFS_SYNC_CUTS=1` cuts at each byte.
private let bytesBetweenCuts = ProcessInfo.processInfo.environment["LFS_SYNC_CUTS"].flatMap { Int($0) }

@Suite("Sync of one account", .timeLimit(.minutes(bytesBetweenCuts == nil ? 10 : 60)))
struct SynchronizeTests {
    private static let recipes = "SELECT id, title, servings FROM recipe ORDER BY id"

    @Test("Inserts, updates and deletions reach the other device")
    func rows() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(
                """
                INSERT INTO recipe (id, title, servings) VALUES ('r1', 'Soup', 4), ('r2', 'Stew', NULL);
                INSERT INTO step (id, recipeID, text) VALUES ('s1', 'r1', 'Boil')
                """)
            #expect(try await one.sync().sent == 3)
            #expect(try await two.sync().received == 3)
            #expect(try await two.rows(Self.recipes) == ["r1|Soup|4", "r2|Stew|NULL"])
            #expect(try await two.rows("SELECT * FROM step") == ["s1|r1|Boil"])
            try await two.execute(
                "UPDATE recipe SET title = 'Broth' WHERE id = 'r1'; DELETE FROM recipe WHERE id = 'r2'")
            #expect(try await two.sync().sent == 2)
            #expect(try await one.sync().received == 2)
            #expect(try await one.rows(Self.recipes) == ["r1|Broth|4"])
            // No change is left to exchange.
            for device in [one, two] { #expect(try await device.sync() == SyncReport()) }
        }
    }

    @Test("Offline edits merge by column, and the last one the server receives wins")
    func merge() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title, servings) VALUES ('r1', 'Soup', 4)")
            for device in [one, two] { try await device.sync() }
            try await one.execute("UPDATE recipe SET title = 'Broth'")
            try await two.execute("UPDATE recipe SET servings = 6")
            for device in [one, two, one] { try await device.sync() }
            for device in [one, two] { #expect(try await device.rows(Self.recipes) == ["r1|Broth|6"]) }
            try await one.execute("UPDATE recipe SET title = 'First'")
            try await two.execute("UPDATE recipe SET title = 'Second'")
            for device in [one, two, one] { try await device.sync() }
            for device in [one, two] { #expect(try await device.rows(Self.recipes) == ["r1|Second|6"]) }
        }
    }

    @Test("A row inserted and deleted between two syncs is not sent")
    func nothing() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'); DELETE FROM recipe")
            #expect(try await one.sync().sent == 0)
        }
    }

    @Test("Only a device that already has rows receives earlier deletions")
    func deletionsBefore() async throws {
        try await TestSync.run(isQuick: true) { sync in
            let one = try await sync.device("one", isQuick: true)
            for number in 0..<100 {
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'Soup')")
            }
            try await one.sync()
            try await one.execute("DELETE FROM recipe")
            try await one.sync()
            let (new, old) = (
                try await sync.device("new", isQuick: true), try await sync.device("old", isQuick: true)
            )
            try await old.execute("INSERT INTO recipe (id, title) VALUES ('r7', 'Stew')")
            for device in [new, old] { try await device.sync() }
            #expect(new.transport.streamed.withLock { $0 } < 1_500)
            #expect(old.transport.streamed.withLock { $0 } > 10_000)
            #expect(try await old.rows("SELECT id FROM recipe") == ["r7"])
        }
    }

    @Test("A sync resumes after a cut at any byte and receives no row twice")
    func cuts() async throws {
        let step = bytesBetweenCuts ?? 397
        try await TestSync.run(isQuick: true) { sync in
            let one = try await sync.device("one", isQuick: true)
            for number in 0..<120 {
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'Soup \(number)')")
            }
            try await one.sync()
            let cuts = Array(stride(from: 1, through: 20_480, by: step))
            try await forEachOnAllProcessors(0..<cuts.count) { index in
                let cut = cuts[index]
                let two = try await sync.device("cut\(cut)", isQuick: true)
                two.transport.faults.withLock { ($0.cutsStreamAfter, $0.pieceSize) = (cut, 61) }
                let error = await #expect(throws: SyncError.self) { try await two.sync() }
                #expect(error?.isRetryable == true)
                two.transport.faults.withLock { $0 = .init() }
                let before = try await two.rows("SELECT count(*) FROM recipe")
                let report = try await two.sync()
                #expect("\(120 - report.received)" == before.first, "\(cut)")
                #expect(try await two.rows("SELECT count(*), max(title) FROM recipe") == ["120|Soup 99"], "\(cut)")
                // An account has at most 50 sessions.
                try await sync.execute("DELETE FROM sync_session WHERE name = 'cut\(cut)'")
            }
            print("Bytes after which the stream was cut: \(cuts.count)")
        }
    }

    @Test("A change whose reply is lost is applied once")
    func lostReply() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title, servings) VALUES ('r1', 'Soup', 1)")
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            try await two.sync()
            try await two.execute("UPDATE recipe SET servings = 2")
            try await two.sync()
            // The repeated change precedes the other device's change.
            try await one.sync()
            #expect(try await one.rows(Self.recipes) == ["r1|Soup|2"])
        }
    }

    @Test("A busy server's retry time is reported")
    func busy() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            one.transport.faults.withLock { $0.refusesPushes = true }
            let error = await #expect(throws: SyncError.self) { try await one.sync() }
            #expect(error?.code == .unavailable && error?.retryAfter == 7)
        }
    }

    @Test("A row that cannot be applied is parked, and the others are applied")
    func parked() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await two.execute(

                """
                CREATE TRIGGER host BEFORE INSERT ON recipe WHEN NEW.title = 'Bad'
                BEGIN SELECT RAISE(ABORT, 'no'); END
                """
            )
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('r1', 'Bad'), ('r2', 'Good');
                INSERT INTO step (id, recipeID) VALUES ('s1', 'r1'), ('s2', 'r2')
                """)
            try await one.sync()
            let report = try await two.sync()
            #expect(report.parked == 2 && report.received == 2)
            #expect(try await two.rows("SELECT id FROM recipe UNION ALL SELECT id FROM step") == ["r2", "s2"])
            try await two.execute("DROP TRIGGER host")
            #expect(try await two.sync().parked == 0)
            #expect(try await two.rows("SELECT id FROM step ORDER BY id") == ["s1", "s2"])
        }
    }

    @Test("A refused change is kept with its reason, and the others are sent")
    func rejected() async throws {
        try await TestSync.run { sync in
            let (ann, bob) = (try await sync.device("ann"), try await sync.device("bob", account: "bob"))
            try await ann.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await ann.sync()
            try await bob.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Mine'), ('r2', 'Stew')")
            #expect(try await bob.sync().sent == 2)
            #expect(try await bob.rows("SELECT key, code FROM lfs_sync_rejection") == ["r1|forbidden"])
            #expect(try await ann.rows(Self.recipes) == ["r1|Soup|NULL"])
        }
    }

    @Test("Parents are sent before children regardless of the order of changes")
    func order() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("UPDATE lfs_sync_table SET rowid = -rowid")
            let client = try await TestSync.client(one.database, transport: one.transport, token: one.token)
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('r1', 'Soup');
                INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')
                """)
            #expect(try await client.synchronize().rejected == 0)
            // A known child moves to a new parent, and the old parent is deleted.
            try await one.execute(
                """
                UPDATE step SET text = 'x'; INSERT INTO recipe (id, title) VALUES ('r2', 'Stew');
                UPDATE step SET recipeID = 'r2'; DELETE FROM recipe WHERE id = 'r1'
                """)
            #expect(try await client.synchronize().rejected == 0)
            try await two.sync()
            #expect(try await two.rows("SELECT id, recipeID, text FROM step") == ["s1|r2|x"])
            #expect(try await two.rows(Self.recipes) == ["r2|Stew|NULL"])
        }
    }

    @Test("A stream overtaken by a later one of the same database is discarded")
    func overtaken() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew')")
            for device in [one, two] { try await device.sync() }
            try await one.execute("UPDATE recipe SET title = 'Broth' WHERE id = 'r1'")
            try await one.sync()
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsPage = (isThere, goOn) }
            let late = Task { try await two.sync() }
            await isThere.wait()
            // Another process of the same device.
            let other = try await TestSync.client(
                two.database, transport: ServiceTransport(sync.service), token: two.token)
            try await one.execute("DELETE FROM recipe WHERE id = 'r1'")
            try await one.sync()
            #expect(try await other.synchronize().received == 1)
            goOn.open()
            let error = await #expect(throws: SyncError.self) { try await late.value }
            #expect(error?.code == .cut)
            #expect(try await two.rows(Self.recipes) == ["r2|Stew|NULL"])
            two.transport.faults.withLock { $0 = .init() }
            for device in [two, one] { #expect(try await device.sync() == SyncReport()) }
        }
    }
}
