import Foundation
import GRDB
import LFSHTTP
import Synchronization
import Testing

@testable import LFSSync
@testable import LFSSyncServer

/// Queries by which an app shows the state of sync to its users.
@Suite("Queries of the app", .timeLimit(.minutes(10)))
struct HostQuestionTests {
    @Test("An account is found by its exact name if the server allows lookups")
    func named() async throws {
        var options = SyncServiceOptions()
        options.namesAccounts = true
        try await TestSync.run(options: options) { sync in
            let ann = try await sync.device("ann")
            let bob = try await sync.service.addSession(account: "bob")
            let id = try await sync.service.account(ofToken: bob)
            #expect(try await ann.client.account(named: "bob") == id && id != nil)
            #expect(try await ann.client.account(named: "cat") == nil)
            let refused = await #expect(throws: SyncError.self) { try await ann.client.account(named: "") }
            #expect(refused?.code == .unexpectedReply)
            #expect(await sync.service.account(Data(#"{"name":"bob"}"#.utf8), token: "x").status == 401)
        }
    }

    @Test("Account lookups are refused unless the operator enables them")
    func closed() async throws {
        try await TestSync.run { sync in
            let ann = try await sync.device("ann")
            let error = await #expect(throws: SyncError.self) { try await ann.client.account(named: "ann") }
            #expect(error?.message.contains("does not reveal which accounts exist") == true)
        }
    }

    @Test("Refused and parked rows are listed with their reasons")
    func problems() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            #expect(try await one.database.read { try SyncProblem.fetch($0) } == [])
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('a', 'Soup'), ('b', 'Stew')")
            for device in [one, two] { try await device.sync() }
            try await two.execute("DELETE FROM recipe WHERE id = 'a'")
            try await two.sync()
            try await one.execute("UPDATE recipe SET title = 'Hot soup' WHERE id = 'a'")
            try await sync.execute("UPDATE recipe SET servings = 5000 WHERE id = 'b'")
            try await one.sync()
            let found = try await one.database.read { try SyncProblem.fetch($0) }
            #expect(found.map(\.kind) == [.refused, .parked])
            #expect(found.map(\.table) == ["recipe", "recipe"] && found.map(\.id) == ["a", "b"])
            #expect(found.allSatisfy { !$0.reason.isEmpty })
            #expect(try await one.database.read { try SyncProblem.fetch(limit: 0, $0) } == [])
        }
    }

    @Test("A row is foreign while another account shares it")
    func foreign() async throws {
        try await TestSync.run { sync in
            let ann = try await sync.device("ann")
            try await ann.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('a', 'Soup'), ('b', 'Stew');
                INSERT INTO lfs_sync_member (tableName, key, scope) VALUES ('recipe', 'b', 'album/x')
                """)
            let found = try await ann.database.read { db in
                try ["a", "b"].map { try SyncedTable.isForeign($0, in: "recipe", db) }
            }
            #expect(found == [false, true])
        }
    }

    @Test("The app is notified of an outage and of its end")
    func outage() async throws {
        try await TestSync.run { sync in
            let ann = try await sync.device("ann")
            let token = ann.token
            let isAway = Mutex(true)
            let clock = WaitingClock { isAway.withLock { $0 = false } }
            let transport = AwayTransport(ann.transport) { isAway.withLock { $0 } }
            var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { token })
            options.transport = transport
            options.clock = clock
            let client = try await SyncClient.open(ann.database, options: options)
            let (told, continuation) = AsyncStream.makeStream(of: String.self)
            let task = Task {
                try await client.run { _ in
                    continuation.yield("there")
                } onOutage: { error in
                    continuation.yield("\(error.code.rawValue) \(error.isRetryable)")
                }
            }
            var seen: [String] = []
            for await one in told {
                seen.append(one)
                if seen.count == 2 { break }
            }
            task.cancel()
            _ = await task.result
            #expect(seen == ["unavailable true", "there"])
        }
    }
}

/// A network that is down while a closure returns true.
private final class AwayTransport: HTTPTransport {
    private let inner: ServiceTransport
    private let isAway: @Sendable () -> Bool

    init(_ inner: ServiceTransport, _ isAway: @escaping @Sendable () -> Bool) {
        self.inner = inner
        self.isAway = isAway
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if isAway() { throw HTTPError(.connectionLost, message: "No route.") }
        return try await inner.send(request)
    }

    func shutdown() async {}
}

/// A clock that runs a body instead of sleeping.
private struct WaitingClock: Clock {
    typealias Instant = ContinuousClock.Instant
    let instead: @Sendable () -> Void

    var now: Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        instead()
    }
}
