import Foundation
import GRDB
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Stale edits on devices", .timeLimit(.minutes(10)))
struct StaleEditTests {
    private static let recipes = "SELECT id, title, servings FROM recipe ORDER BY id"
    private static let refused = "SELECT key, code FROM lfs_sync_rejection ORDER BY id"

    /// Runs a body with two devices that have the recipe `r1`.
    private func run(
        _ policy: SyncConflictPolicy = .rejectStale,
        _ body: (TestSync, TestSync.Device, TestSync.Device) async throws -> Void
    ) async throws {
        var options = SyncServiceOptions()
        options.conflicts["recipe"] = policy
        try await TestSync.run(options: options) { sync in
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
            #expect(try await device.rows("SELECT * FROM lfs_sync_outbox") == [])
        }
    }

    @Test("A stale edit is reverted to the server's row and kept as refused")
    func rejectStale() async throws {
        try await run { _, one, two in
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            try await two.execute("UPDATE recipe SET servings = 9")
            try await two.sync()
            try await one.sync()
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
            #expect(
                try await one.rows("SELECT json_extract(mutation, '$.data.title') FROM lfs_sync_rejection") == ["Mine"])
            try await converge(one, two: two, to: ["r1|Soup|9"])
            // Repeating the edit on the current row succeeds.
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            try await converge(one, two: two, to: ["r1|Mine|9"])
        }
    }

    @Test("An edit stays stale when the newer row arrives after it")
    func latePage() async throws {
        try await run { _, one, two in
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            try await two.execute("UPDATE recipe SET servings = 9")
            try await two.sync()
            one.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await one.sync() }
            #expect(try await one.rows(Self.recipes) == ["r1|Mine|9"])
            one.transport.faults.withLock { $0.refusesPushes = false }
            try await converge(one, two: two, to: ["r1|Soup|9"])
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
        }
    }

    @Test("A stale deletion restores the row")
    func deletion() async throws {
        try await run { _, one, two in
            try await one.execute("DELETE FROM recipe")
            try await two.execute("UPDATE recipe SET servings = 9")
            try await two.sync()
            try await converge(one, two: two, to: ["r1|Soup|9"])
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
        }
    }

    @Test("A device's own successive edits are not stale", arguments: [false, true])
    func own(isLost: Bool) async throws {
        try await run { _, one, two in
            try await one.execute("UPDATE recipe SET title = 'A'")
            if isLost {
                one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
                await #expect(throws: SyncError.self) { try await one.sync() }
            } else {
                one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/stream" }
                await #expect(throws: SyncError.self) { try await one.sync() }
            }
            try await one.execute("UPDATE recipe SET title = 'B'")
            try await converge(one, two: two, to: ["r1|B|4"])
            #expect(try await one.rows(Self.refused) == [])
        }
    }

    @Test("After a reset a device keeps the base versions that it had", arguments: [false, true])
    func reset(isApplied: Bool) async throws {
        try await run { sync, one, two in
            let reset = "UPDATE sync_session SET resetReason = 'operator'"
            if isApplied {
                // The server has applied a change that has not returned to the device.
                try await one.execute("UPDATE recipe SET title = 'A'")
                one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/stream" }
                await #expect(throws: SyncError.self) { try await one.sync() }
                try await sync.execute(reset)
            } else {
                // The device knows of the reset but has received no rows since.
                try await sync.execute(reset)
                one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/ack" }
                await #expect(throws: SyncError.self) { try await one.sync() }
                #expect(try await one.rows("SELECT token FROM lfs_sync_checkpoint WHERE type = 'RecipeV1'") == [])
            }
            try await one.execute("UPDATE recipe SET title = 'B'")
            try await converge(one, two: two, to: ["r1|B|4"])
            #expect(try await one.rows(Self.refused) == [])
        }
    }

    @Test("After a reset a change the device has not received still makes its edit stale")
    func staleReset() async throws {
        try await run { sync, one, two in
            try await two.execute("UPDATE recipe SET servings = 9")
            try await two.sync()
            try await sync.execute("UPDATE sync_session SET resetReason = 'operator'")
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/ack" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            try await converge(one, two: two, to: ["r1|Soup|9"])
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
        }
    }

    @Test("A repeated old reply does not restore an old row")
    func oldAnswer() async throws {
        try await run { _, one, two in
            try await two.execute("UPDATE recipe SET servings = 9")
            try await two.sync()
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            try await two.execute("UPDATE recipe SET title = 'Newer'")
            try await two.sync()
            one.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await one.sync() }
            one.transport.faults.withLock { $0.refusesPushes = false }
            try await converge(one, two: two, to: ["r1|Newer|9"])
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
        }
    }

    @Test("A change hidden by a pending edit does not count as seen by the next edit")
    func hidden() async throws {
        try await run { _, one, two in
            try await two.execute("UPDATE recipe SET title = 'Theirs'")
            try await two.sync()
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            #expect(try await one.rows(Self.recipes) == ["r1|Mine|4"])
            try await one.execute("UPDATE recipe SET title = title || '+'")
            try await converge(one, two: two, to: ["r1|Theirs|4"])
            #expect(try await one.rows(Self.refused) == ["r1|stale", "r1|stale"])
        }
    }

    @Test("A parked incoming change does not count as seen")
    func parked() async throws {
        try await run { sync, one, two in
            // The devices' tables accept only values below 1,000.
            try await sync.execute("UPDATE recipe SET servings = 5000")
            try await one.sync()
            #expect(try await one.rows(Self.recipes) == ["r1|Soup|4"])
            try await one.execute("UPDATE recipe SET title = 'Mine'")
            try await one.sync()
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
        }
    }

    @Test("The result of the app's conflict rule reaches both devices")
    func closure() async throws {
        let policy = SyncConflictPolicy.resolve { conflict in
            guard case .text(let here)? = conflict.server["title"], case .text(let there)? = conflict.device["title"]
            else { return [:] }
            return here == "keep" ? [:] : ["title": .text(here + "+" + there)]
        }
        try await run(policy) { _, one, two in
            try await one.execute("UPDATE recipe SET title = 'One'")
            try await two.execute("UPDATE recipe SET title = 'Two'")
            try await two.sync()
            try await converge(one, two: two, to: ["r1|Two+One|4"])
            #expect(try await one.rows(Self.refused) == [])
            try await two.execute("UPDATE recipe SET title = 'keep'")
            try await one.execute("UPDATE recipe SET title = 'else'")
            try await two.sync()
            try await converge(one, two: two, to: ["r1|keep|4"])
            #expect(try await one.rows(Self.refused) == ["r1|stale"])
        }
    }

    @Test("Each word added in random runs is in the final text or in a refused change")
    func words() async throws {
        var (accepted, refused) = (0, 0)
        for seed in 0..<12 {
            var options = SyncServiceOptions()
            options.conflicts["recipe"] = .rejectStale
            try await TestSync.run(isQuick: true, options: options) { sync in
                let counts = try await Self.addWords(sync, seed: UInt64(seed))
                accepted = accepted + counts.accepted
                refused = refused + counts.refused
            }
        }
        #expect(accepted > 20 && refused > 20)
    }

    private static func addWords(_ sync: TestSync, seed: UInt64) async throws -> (accepted: Int, refused: Int) {
        var random = SeededGenerator(seed: seed)
        var devices: [TestSync.Device] = []
        for number in 0..<3 { devices.append(try await sync.device("d\(number)", isQuick: true)) }
        try await devices[0].execute("INSERT INTO recipe (id, title) VALUES ('r1', '')")
        for device in devices { try await device.sync() }
        var words: [String] = []
        for number in 0..<Int.random(in: 15...40, using: &random) {
            let device = devices[Int.random(in: 0..<3, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                words.append("w\(number).")
                try await device.execute("UPDATE recipe SET title = title || 'w\(number).'")
            case 4: device.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            case 5: device.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/stream" }
            case 6: try await sync.execute("UPDATE sync_session SET resetReason = 'operator' WHERE resetReason IS NULL")
            default: break
            }
            if Bool.random(using: &random) { try await synchronize(device) }
            device.transport.faults.withLock { $0 = .init() }
        }
        for _ in 0..<3 { for device in devices { try await device.sync() } }
        let title = try #require(try await devices[0].rows("SELECT title FROM recipe").first)
        var refused = ""
        for device in devices {
            #expect(try await device.rows("SELECT title FROM recipe") == [title], "seed \(seed)")
            refused += try await device.rows("SELECT mutation FROM lfs_sync_rejection").joined()
        }
        let lost = words.filter { !title.contains($0) && !refused.contains($0) }
        #expect(lost == [], "seed \(seed)")
        return (words.filter(title.contains).count, words.filter { !title.contains($0) }.count)
    }

    /// A retryable failure is left to the next sync.
    private static func synchronize(_ device: TestSync.Device) async throws {
        do {
            try await device.sync()
        } catch let error as SyncError where error.isRetryable {
            return
        }
    }
}
