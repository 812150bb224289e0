import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSHTTPStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Pending edits and incoming changes", .timeLimit(.minutes(10)))
struct PendingEditTests {
    private static let recipes = "SELECT id, title, servings FROM recipe ORDER BY id"

    /// Runs a body with two devices that have the recipe `r1`.
    private func run(_ body: (TestSync, TestSync.Device, TestSync.Device) async throws -> Void) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title, servings) VALUES ('r1', 'Soup', 4)")
            for device in [one, two] { try await device.sync() }
            try await body(sync, one, two)
        }
    }

    private func converge(_ one: TestSync.Device, two: TestSync.Device, to rows: [String]) async throws {
        for device in [one, two, one, two] { try await device.sync() }
        for device in [one, two] {
            #expect(try await device.rows(Self.recipes) == rows)
            #expect(try await device.sync().pending == 0)
            #expect(try await device.rows("SELECT * FROM lfs_sync_outbox") == [])
        }
    }

    /// Sends pending changes during a stream, as a running client does.
    private func push(_ device: TestSync.Device) async throws -> Int {
        let url = try #require(URL(string: "https://sync.example"))
        let server = SyncHTTPClient(base: try Endpoint(url), transport: device.transport, token: { device.token })
        let tables = try await device.database.read { try SyncedTable.all($0) }
        let progress = SyncProgress()
        try await PushRound(
            runner: BackgroundRunner(device.database), server: server, tables: tables, clock: ContinuousClock()
        ).run {
            progress.sent($0)
        }
        return progress.report.sent
    }

    @Test(
        "A page read before a local edit changes only the columns that were not edited",
        arguments: [false, true])
    func latePage(isSent: Bool) async throws {
        try await run { _, one, two in
            try await two.execute("UPDATE recipe SET title = 'Theirs', servings = 9")
            try await two.sync()
            let (isThere, goOn) = (Latch(), Latch())
            one.transport.faults.withLock { $0.holdsPage = (isThere, goOn) }
            async let report = one.sync()
            await isThere.wait()
            // The server has read the page.
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            if isSent { #expect(try await push(one) == 1) }
            goOn.open()
            _ = try await report
            #expect(try await one.rows(Self.recipes) == ["r1|Mine|9"])
            try await converge(one, two: two, to: ["r1|Mine|9"])
        }
    }

    @Test("An incoming deletion removes an edited row and keeps the edit as refused")
    func deletedElsewhere() async throws {
        try await run { _, one, two in
            try await two.execute("DELETE FROM recipe")
            try await two.sync()
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            one.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await one.sync() }
            #expect(try await one.rows(Self.recipes) == [])
            one.transport.faults.withLock { $0.refusesPushes = false }
            try await converge(one, two: two, to: [])
            #expect(try await one.rows("SELECT key FROM lfs_sync_rejection") == ["r1"])
        }
    }

    @Test("An incoming deletion leaves a row that was deleted and inserted again")
    func madeAnew() async throws {
        try await run { _, one, two in
            try await two.execute("DELETE FROM recipe")
            try await two.sync()
            try await one.execute(
                "DELETE FROM recipe; INSERT INTO recipe (id, title, servings) VALUES ('r1', 'New', 1)")
            one.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await one.sync() }
            #expect(try await one.rows(Self.recipes) == ["r1|New|1"])
            one.transport.faults.withLock { $0.refusesPushes = false }
            try await converge(one, two: two, to: ["r1|New|1"])
        }
    }

    @Test("An edit made while another is in flight is sent after it")
    func inFlight() async throws {
        try await run { _, one, two in
            try await one.execute("UPDATE recipe SET title = 'First'")
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            try await one.execute("UPDATE recipe SET title = 'Second'")
            try await one.execute("UPDATE recipe SET servings = 7")
            #expect(
                try await one.rows("SELECT sequence IS NULL, columns FROM lfs_sync_outbox ORDER BY id")
                    == [#"0|{"title":1}"#, #"1|{"title":1,"servings":1}"#])
            #expect(try await one.sync().sent == 2)
            try await converge(one, two: two, to: ["r1|Second|7"])
        }
    }

    @Test("A refused edit is reverted to the server's row and kept with the reason")
    func refused() async throws {
        try await FileSync.shared { _, ann, bob, file in
            try await bob.device.execute("UPDATE lfs_file SET name = 'his'")
            #expect(try await bob.row(file)?.name == "his")
            #expect(try await bob.sync().rejected == 1)
            #expect(try await bob.row(file)?.name == "photo")
            #expect(
                try await bob.device.rows("SELECT key, code FROM lfs_sync_rejection") == ["\(file.id.text)|forbidden"])
            try await ann.sync()
            #expect(try await ann.row(file)?.name == "photo")
        }
    }

    @Test("Incoming changes arrive while pushes fail")
    func uploadsFail() async throws {
        try await run { _, one, two in
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Stew')")
            try await two.sync()
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            one.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await one.sync() }
            #expect(try await one.rows(Self.recipes) == ["r1|Mine|4", "r2|Stew|NULL"])
            one.transport.faults.withLock { $0.refusesPushes = false }
            try await converge(one, two: two, to: ["r1|Mine|4", "r2|Stew|NULL"])
        }
    }
}
