import LFSServerPostgres
import Logging
import Testing

@testable import LFSSyncServer

@Suite("Rolling upgrades of servers on PostgreSQL", .timeLimit(.minutes(10)))
struct RollingUpgradeTests {
    private static let extended = "\(ServerTables.version + 1) \(ServerTables.version)"

    private static func versions(_ group: ServerGroup) async throws -> String? {
        try await group.text("SELECT schemaVersion || ' ' || oldestVersion FROM sync_state")
    }

    /// Replaces the servers to a new release, back, and to the new release again, while devices push.
    private static func replaceServers(of group: ServerGroup, progress: TrialProgress) async throws {
        await progress.awaitPushes(150)
        #expect(try await versions(group) == "\(ServerTables.version) \(ServerTables.oldestVersion)")
        // In the middle of the rollout, a server of the old release ends and starts again.
        let rollout: [[ServerRelease]] = [[.new], [.old, .new], [.old, .old, .new]]
        for (place, releases) in rollout.enumerated() {
            for (number, release) in releases.enumerated() {
                if number % 2 == 0 { try await group.stop(place) } else { try await group.kill(place) }
                await progress.awaitPushes(20)
                try await group.start(release, at: place)
                await progress.awaitPushes(40)
                #expect(try await versions(group) == extended)
            }
        }
        for release in [ServerRelease.old, .new] {
            for place in 0..<3 {
                if place == 1 { try await group.kill(place) } else { try await group.stop(place) }
                await progress.awaitPushes(20)
                try await group.start(release, at: place)
                await progress.awaitPushes(40)
                #expect(try await versions(group) == extended)
            }
        }
    }

    /// Runs ten devices of five accounts until the body has ended.
    private static func outcomes(
        of group: ServerGroup, _ body: (TrialProgress) async throws -> Void
    ) async throws -> [RollingDevice.Outcome] {
        let progress = TrialProgress(writerCount: 10)
        var tokens: [String] = []
        for number in 0..<10 {
            tokens.append(try await group.next().service.addSession(account: "account \(number % 5)"))
        }
        return try await withThrowingTaskGroup(of: RollingDevice.Outcome.self) { [tokens] tasks in
            for (number, token) in tokens.enumerated() {
                tasks.addTask {
                    await RollingDevice(group, account: number % 5, name: "d\(number)", token: token).run(progress)
                }
            }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(progress))
            } catch {
                result = .failure(error)
            }
            await progress.end()
            var outcomes: [RollingDevice.Outcome] = []
            for try await outcome in tasks { outcomes.append(outcome) }
            try result.get()
            return outcomes
        }
    }

    @Test("Ten devices lose nothing while servers are upgraded, rolled back and upgraded")
    func rollout() async throws {
        try await TestStore.run { url, schema in
            let group = try ServerGroup(url: url, schema: schema)
            for place in 0..<3 { try await group.start(.old, at: place) }
            let outcomes = try await Self.outcomes(of: group) { progress in
                try await Self.replaceServers(of: group, progress: progress)
            }
            for outcome in outcomes {
                #expect(outcome.faults == [])
                let rows = outcomes.filter { $0.account == outcome.account }.flatMap(\.pushed)
                let pushed = Dictionary(rows) { first, _ in first }
                #expect(outcome.read == pushed)
            }
            // Requests were repeated, and each push was applied once.
            #expect(outcomes.contains { $0.repeatCount > 0 })
            let sequences = try await group.text("SELECT sum(lastSequence) || '' FROM sync_session")
            #expect(sequences == "\(outcomes.map(\.sequence).reduce(0, +))")
            let rows = try await group.text("SELECT string_agg(id || ' ' || title, ',' ORDER BY id) FROM recipe")
            let pushed = outcomes.flatMap(\.pushed).map { "\($0.key) \($0.value)" }.sorted()
            let present = (rows ?? "").split(separator: ",").map { String($0) }.sorted()
            #expect(present == pushed)
            for release in [ServerRelease.old, .new] {
                let store = try SyncStore(
                    group.database, schema: release.schema, version: release.version, logger: Logger(label: "test"))
                let pending = try await store.pending()
                #expect(pending == [])
            }
            #expect(try await group.next().service.recount() == 0)
            let step = try await group.text("SELECT name FROM sync_step")
            #expect(step == StoreVersion.nextStep)
            try await group.stopAll()
        }
    }

    @Test("A server that is too old for the database is refused, and the others continue")
    func tooOld() async throws {
        try await TestStore.run { url, schema in
            let group = try ServerGroup(url: url, schema: schema)
            for (place, release) in [ServerRelease.old, .new, .newest].enumerated() {
                try await group.start(release, at: place)
            }
            try await group.stop(0)
            let error = await #expect(throws: SyncStoreError.self) { try await group.start(.old, at: 0) }
            let version = ServerTables.version
            #expect(error?.code == .newerServer)
            #expect(error?.description.contains("for servers of version \(version + 1) and newer") == true)
            #expect(error?.description.contains("Use the newer server") == true)
            let outcomes = try await Self.outcomes(of: group) { progress in
                await progress.awaitPushes(50)
                try await group.stop(1)
                try await group.start(.new, at: 1)
                await progress.awaitPushes(50)
            }
            #expect(outcomes.allSatisfy { $0.faults.isEmpty })
            #expect(try await Self.versions(group) == "\(version + 2) \(version + 1)")
            try await group.start(.newest, at: 0)
            try await group.stopAll()
        }
    }
}
