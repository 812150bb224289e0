import Foundation
import GRDB
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFS

@Suite("Refused credentials", .timeLimit(.minutes(10)))
struct CredentialsOutageTests {
    /// The state of the credentials and the number of refused requests.
    private final class Credentials: Sendable {
        private let state = Mutex((areGood: true, refused: 0))
        var refused: Int { state.withLock { $0.refused } }

        func set(_ areGood: Bool) { state.withLock { $0.areGood = areGood } }

        func require() throws {
            let areGood = state.withLock { state in
                if !state.areGood { state.refused += 1 }
                return state.areGood
            }
            if !areGood { throw StorageError(.unauthorized, message: "The token has expired: get a new one.") }
        }
    }

    private let credentials = Credentials()

    private var storage: ScriptedStorage {
        let credentials = credentials
        return ScriptedStorage(
            beforeUpload: { _, _ in try credentials.require() }, beforeDelete: { _, _ in try credentials.require() })
    }

    @Test("Refused credentials fail no file and are reported until they work again")
    func uploads() async throws {
        let clock = ManualClock()
        try await withLFS(storage: storage, configure: { Self.slow(&$0, clock: clock) }) { host, lfs in
            let events = lfs.events(bufferingPolicy: .unbounded)
            credentials.set(false)
            let files = try await Self.insert(40, host: host, lfs: lfs)
            try await Self.groupingOutcomes(clock) {
                try await yield(while: host.count("lfs_state WHERE outageCode IS NOT NULL") == 0)
            }
            let outage = try await lfs.status().outage
            #expect(try await lfs.outage() == outage)
            #expect(outage?.code == .unauthorized)
            #expect(outage?.reason == "The token has expired: get a new one.")
            #expect(try host.count("lfs_job WHERE state = 'queued' AND attempts = 0") == 40)
            #expect(credentials.refused <= 10)
            credentials.set(true)
            lfs.resume()
            try await Self.runFreely(clock) { try await lfs.waitForUploads() }
            #expect(try host.count("lfs_file WHERE status = 'remote'") == files.count)
            try await yield(while: host.count("lfs_state WHERE outageCode IS NOT NULL") == 1)
            var seen: [String] = []
            for await event in events {
                if case .failed = event { seen.append("failed") }
                guard case .outage(let outage) = event else { continue }
                seen.append(outage?.code.rawValue ?? "over")
                if outage == nil { break }
            }
            #expect(seen == ["unauthorized", "over"])
        }
    }

    @Test("Refused credentials postpone remote deletes, and resume() retries them")
    func deletions() async throws {
        let clock = ManualClock()
        try await withLFS(storage: storage, configure: { Self.slow(&$0, clock: clock) }) { host, lfs in
            let files = try await Self.insert(30, host: host, lfs: lfs)
            try await Self.runFreely(clock) { try await lfs.waitForUploads() }
            credentials.set(false)
            try await host.database.write { db in _ = try FileData.deleteAll(db) }
            try await yield(
                while: host.count("lfs_state WHERE outageCode IS NOT NULL") == 0 || !host.filesInStore().isEmpty)
            try await yield(while: host.count("lfs_tombstone WHERE state = 'pending'") > 0)
            #expect(try host.count("lfs_tombstone WHERE attempts = 0") == files.count)
            try await #expect(lfs.waitForDeletions() == files.count, "the call does not wait for the end of an outage")
            // The manager runs four deletions at once.
            #expect(credentials.refused <= 4)
            let refused = credentials.refused
            // The wake-ups of the outage and its record are over. Nothing else wakes the manager before the clock
            // advances.
            try await yield(while: !(lfs.commits.isAwaited && lfs.tombstones.isAwaited))
            lfs.resume()
            try await yield(while: credentials.refused == refused)
            credentials.set(true)
            lfs.resume()
            try await yield(while: host.count("lfs_tombstone") > 0)
            #expect(credentials.refused == refused + 1, "one probe")
            try await yield(while: host.count("lfs_state WHERE outageCode IS NOT NULL") == 1)
        }
    }

    /// Sets long delays between probes, which only the test ends.
    private static func slow(_ options: inout LFSOptions, clock: ManualClock) {
        options.clock = clock
        options.backoff = Backoff(base: .seconds(3_600), cap: .seconds(3_600))
        options.random = { 1 }
        options.pollInterval = .seconds(3_600)
    }

    /// Advances the clock through the short delays that group outcomes, but not through the delays between probes.
    private static func groupingOutcomes(
        _ clock: ManualClock, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    await clock.waitForSleepers { ($0.first ?? .seconds(1)) <= LFSOptions.outcomeGrouping }
                    if let next = clock.remaining.first, next <= LFSOptions.outcomeGrouping { clock.advance(by: next) }
                }
            }
            try await body()
            group.cancelAll()
        }
    }

    private static func insert(_ count: Int, host: TestHost, lfs: LFSManager) async throws -> [FileData] {
        var files: [FileData] = []
        for _ in 0..<count { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
        let made = files
        try await host.database.write { db in for file in made { try file.insert(db) } }
        return files
    }

    private static func runFreely(
        _ clock: ManualClock, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await clock.runFreely() }
            try await body()
            group.cancelAll()
        }
    }
}
