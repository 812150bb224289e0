import Foundation
import GRDB
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

private func setting(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

/// The settings of a long run. `LFS_SYNC_MODEL_RUNS` sets the number of runs and `LFS_SYNC_MODEL_SEED` the first seed.
/// The seed alone repeats one earlier run. The progress is printed, so that an interrupted series can be resumed.
private let runs = setting("LFS_SYNC_MODEL_RUNS")
private let seed = setting("LFS_SYNC_MODEL_SEED")

/// Devices that make random changes over a faulty network, with resets and restored databases.
@Suite("Convergence of random sync runs", .serialized, .timeLimit(.minutes(runs == nil ? 60 : 6_000)))
struct ConvergenceTests {
    @Test("Devices and the server converge after random operations without lost writes")
    func model() async throws {
        let seeds = (seed ?? 0)..<(seed ?? 0) + (runs ?? (seed == nil ? 2_000 : 1))
        let counts = Mutex<[ConvergenceModel.Step: Int]>([:])
        try await forEachOnAllProcessors(seeds) { seed in
            do {
                try await TestSync.run(isQuick: true) { sync in
                    var model = try await ConvergenceModel(sync, seed: seed)
                    try await model.run()
                    counts.withLock { $0.merge(model.counts) { $0 + $1 } }
                }
            } catch let error where !(error is CancellationError) {
                Issue.record(error, "seed \(seed)")
            }
        } onProgress: { seed in
            if seed % 5_000 == 0 { print("Seeds from \(seeds.lowerBound) on that were run: all below \(seed)") }
        }
        print("Runs of the model: \(seeds.count), from seed \(seeds.lowerBound) on")
        guard seeds.count > 20 else { return }
        let all = counts.withLock { $0 }
        for step in ConvergenceModel.Step.allCases { #expect(all[step] ?? 0 > 0, "\(step)") }
    }
}

struct ConvergenceModel {
    enum Step: CaseIterable { case insert, update, delete, sync, cutSync, lostReply, refusedPush, reset, keep, restore }

    private let sync: TestSync
    private let seed: Int
    private var random: SeededGenerator
    private var devices: [TestSync.Device] = []
    private var kept: [Int: DatabaseQueue] = [:]
    /// The rows that a device has inserted, and those that a device has deleted.
    private var made: Set<String> = []
    private var deleted: Set<String> = []
    private(set) var counts: [Step: Int] = [:]

    init(_ sync: TestSync, seed: Int) async throws {
        self.sync = sync
        self.seed = seed
        random = SeededGenerator(seed: UInt64(seed))
        for number in 0..<Int.random(in: 2...3, using: &random) {
            devices.append(try await sync.device("d\(number)", isQuick: true))
        }
    }

    mutating func run() async throws {
        for _ in 0..<Int.random(in: 10...40, using: &random) {
            let step = Step.allCases.randomElement(using: &random) ?? .sync
            let index = Int.random(in: 0..<devices.count, using: &random)
            try await take(step, index: index, device: devices[index])
            counts[step, default: 0] += 1
        }
        try await settle()
    }

    private mutating func take(_ step: Step, index: Int, device: TestSync.Device) async throws {
        switch step {
        case .insert: try await insert(device)
        case .update: try await update(device)
        case .delete: try await delete(device)
        case .sync: try await synchronize(device)
        case .cutSync:
            let cut = Int.random(in: 0...3_000, using: &random)
            device.transport.streamed.withLock { $0 = 0 }
            device.transport.faults.withLock { $0.cutsStreamAfter = max(cut, 1) }
            try await synchronize(device)
        case .lostReply:
            let path = ["push", "ack", "stream"].randomElement(using: &random) ?? "push"
            device.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/\(path)" }
            try await synchronize(device)
        case .refusedPush:
            device.transport.faults.withLock { $0.refusesPushes = true }
            try await synchronize(device)
        case .reset:
            try await sync.execute("UPDATE sync_session SET resetReason = 'operator' WHERE resetReason IS NULL")
        case .keep:
            let copy = try DatabaseQueue()
            try device.database.backup(to: copy)
            kept[index] = copy
        case .restore:
            guard let copy = kept[index] else { return }
            // Rows that only the replaced database had are lost with it.
            let here = try await keys(device)
            try copy.backup(to: device.database)
            let there = try await keys(device)
            let known = try await serverKeys()
            made.subtract(here.subtracting(there).subtracting(known))
        }
        device.transport.faults.withLock { $0 = .init() }
    }

    /// A retryable failure is left to the next sync.
    private func synchronize(_ device: TestSync.Device) async throws {
        do {
            try await device.sync()
        } catch let error as SyncError where error.isRetryable {
            return
        }
    }

    // MARK: Writing

    private mutating func insert(_ device: TestSync.Device) async throws {
        let id = "k\(seed)-\(Int.random(in: 0..<1 << 40, using: &random))"
        let title = "t\(Int.random(in: 0..<100, using: &random))"
        let parent = try await anyKey(of: "recipe", device)
        if let parent, Bool.random(using: &random) {
            try await device.execute("INSERT INTO step (id, recipeID, text) VALUES ('\(id)', '\(parent)', '\(title)')")
            return
        }
        try await device.execute("INSERT INTO recipe (id, title) VALUES ('\(id)', '\(title)')")
        made.insert(id)
    }

    private mutating func update(_ device: TestSync.Device) async throws {
        let table = Bool.random(using: &random) ? "recipe" : "step"
        guard let id = try await anyKey(of: table, device) else { return }
        let number = Int.random(in: 0..<900, using: &random)
        let change =
            table == "step"
            ? "text = 'u\(number)'"
            : Bool.random(using: &random) ? "title = 'u\(number)'" : "servings = \(number)"
        try await device.execute("UPDATE \(table) SET \(change) WHERE id = '\(id)'")
    }

    private mutating func delete(_ device: TestSync.Device) async throws {
        let table = Int.random(in: 0..<3, using: &random) == 0 ? "recipe" : "step"
        guard let id = try await anyKey(of: table, device) else { return }
        try await device.execute("DELETE FROM \(table) WHERE id = '\(id)'")
        deleted.insert(id)
    }

    private mutating func anyKey(of table: String, _ device: TestSync.Device) async throws -> String? {
        try await device.rows("SELECT id FROM \(table) ORDER BY id").randomElement(using: &random)
    }

    private func keys(_ device: TestSync.Device) async throws -> Set<String> {
        Set(try await device.rows("SELECT id FROM recipe"))
    }

    private func serverKeys() async throws -> Set<String> { Set(try await serverRows("SELECT id FROM recipe")) }

    private func serverRows(_ sql: String) async throws -> [String] {
        try await sync.serverDatabase.read { db in
            var rows: [String] = []
            try db.query(sql, arguments: []) { row in
                rows.append(try row.text(0) ?? "NULL")
                return true
            }
            return rows
        }
    }

    // MARK: Settling

    private static let dumps = [
        "SELECT id || '|' || title || '|' || coalesce(servings, '-') FROM recipe ORDER BY id",
        "SELECT id || '|' || recipeID || '|' || coalesce(text, '-') FROM step ORDER BY id",
    ]

    private func settle() async throws {
        for _ in 0..<3 { for device in devices { try await device.sync() } }
        for sql in Self.dumps {
            let expected = try await serverRows(sql)
            for device in devices {
                let rows = try await device.rows(sql)
                #expect(rows == expected, "seed \(seed)")
            }
        }
        for device in devices {
            var report = try await device.sync()
            report.rejected = 0
            #expect(report == SyncReport(), "seed \(seed)")
            for table in ["lfs_sync_outbox", "lfs_sync_pass", "lfs_sync_mark", "lfs_sync_parked"] {
                #expect(try await device.rows("SELECT * FROM \(table)") == [], "seed \(seed): \(table)")
            }
        }
        let there = try await serverKeys()
        #expect(made.subtracting(deleted).subtracting(there) == [], "seed \(seed): lost")
        // Only a restored device may bring back rows that it deleted after the copy.
        if counts[.restore] == nil { #expect(there.intersection(deleted) == [], "seed \(seed): back again") }
    }
}
