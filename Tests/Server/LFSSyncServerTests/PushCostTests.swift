import Foundation
import Logging
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// A clock that a test sets.
///
/// The mutex owns the time.
final class PushClock: Sendable {
    private struct State {
        var now = ContinuousClock.now
        var step = Duration.zero
        /// The number of reads until the jump.
        var jump: (looks: Int, by: Duration)?
    }

    private let state = Mutex(State())

    /// Sets the duration that each read of the clock takes.
    func setStep(_ step: Duration) { state.withLock { $0.step = step } }

    /// Makes the clock jump once, at the n-th read from now on.
    func jump(atLook number: Int, by duration: Duration) { state.withLock { $0.jump = (number, duration) } }

    var read: @Sendable () -> ContinuousClock.Instant {
        { [self] in
            state.withLock { state in
                state.now += state.step
                state.jump?.looks -= 1
                if let jump = state.jump, jump.looks == 0 {
                    state.now += jump.by
                    state.jump = nil
                }
                return state.now
            }
        }
    }
}

@Suite("Limits of pushes", .timeLimit(.minutes(10)))
struct PushCostTests {
    private func run(
        _ options: SyncServiceOptions = SyncServiceOptions(), _ body: (TestServer, PushClock) async throws -> Void
    ) async throws {
        try await TestStore.run { database in
            let clock = PushClock()
            let service = try await SyncService(
                database, schema: TestServer.schema, options: options, logger: Logger(label: "test"),
                times: LiveTimes(longest: .seconds(600)), clock: clock.read)
            try await body(TestServer(database: database, service: service), clock)
        }
    }

    private func puts(_ count: Int, from first: Int64 = 1) throws -> [SyncMutation] {
        try (0..<Int64(count)).map { number in
            SyncMutation(
                id: "m\(first + number)", sequence: first + number, type: try #require(SyncType("RecipeV2")),
                operation: .put, key: "r\(first + number)", row: SyncRow(["title": .text("Soup")]))
        }
    }

    /// Patches of rows that the server has. Each is applied alone.
    private func patches(_ count: Int, server: TestServer) async throws -> [SyncMutation] {
        try await server.fill(count, bytes: 4)
        return try puts(count).map { mutation in
            var mutation = mutation
            mutation.operation = .patch
            return mutation
        }
    }

    private func body(_ mutations: [SyncMutation]) -> Data {
        var bytes: [UInt8] = []
        for mutation in mutations { mutation.write(to: &bytes) }
        return Data(bytes)
    }

    @Test("A push that exceeds its time commits its first mutations")
    func spent() async throws {
        try await run { server, clock in
            let device = try await server.device()
            let mutations = try await patches(40, server: server)
            // The clock is read several times for each mutation.
            clock.setStep(.milliseconds(30))
            var left = mutations[...]
            var pushes = 0
            while !left.isEmpty {
                let results = try await device.send(Array(left))
                #expect(results.allSatisfy(\.outcome.isApplied) && !results.isEmpty)
                left = left.dropFirst(results.count)
                pushes += 1
            }
            #expect(pushes > 1 && pushes < 40, "\(pushes)")
            #expect(try await server.count("recipe", where: "title = 'Soup'") == 40)
        }
    }

    @Test("A mutation that takes over five seconds is rolled back, and earlier ones stay")
    func slow() async throws {
        try await run { server, clock in
            let device = try await server.device()
            // The clock is read at the start of the push and of its transaction, after each mutation, and before each
            // mutation except the first.
            clock.jump(atLook: 5, by: .seconds(6))
            let mutations = try await patches(3, server: server)
            let results = try await device.send(mutations)
            #expect(results.count == 1 && results.allSatisfy(\.outcome.isApplied))
            #expect(try await server.count("recipe", where: "title = 'Soup'") == 1)
            // The mutation is too slow even alone. It is neither refused nor applied.
            clock.setStep(.seconds(6))
            let next = mutations.dropFirst()
            let reply = await server.service.push(body(Array(next)), token: device.token)
            #expect(reply.status == 503 && reply.headers["retry-after"] == "60")
            guard case .whole(let data) = reply.body else {
                Issue.record("\(reply)")
                return
            }
            #expect(String(decoding: data, as: UTF8.self).contains("too_slow"))
            #expect(try await server.count("recipe", where: "title = 'Soup'") == 1)
            clock.setStep(.zero)
            #expect(try await device.send(Array(next)).allSatisfy(\.outcome.isApplied))
            #expect(try await server.count("recipe", where: "title = 'Soup'") == 3)
        }
    }

    @Test("A push counts as one request plus one for each hundred mutations")
    func charged() async throws {
        let start = Date()
        var options = SyncServiceOptions()
        options.now = { start }
        options.requestsPerSecond = 1
        try await run(options) { server, _ in
            let device = try await server.device()
            // The limit allows ten requests at once. Each push counts as six.
            for first in [Int64(1), 501] {
                #expect(try await device.send(try puts(500, from: first)).count == 500)
            }
            let reply = await server.service.push(body(try puts(1, from: 1_001)), token: device.token)
            #expect(reply.status == 429 && reply.headers["retry-after"] == "3", "\(reply)")
        }
    }

    @Test("A push counts for its time if that is more than its mutations")
    func chargedForTime() async throws {
        let start = Date()
        var options = SyncServiceOptions()
        options.now = { start }
        options.requestsPerSecond = 1
        try await run(options) { server, clock in
            let device = try await server.device()
            // The second look is at the start of the transaction. The push takes 300 ms, as much as thirty requests.
            clock.jump(atLook: 2, by: .milliseconds(300))
            #expect(try await device.send(try puts(1)).count == 1)
            let reply = await server.service.push(body(try puts(1, from: 2)), token: device.token)
            #expect(reply.status == 429 && reply.headers["retry-after"] == "22", "\(reply)")
        }
    }

    @Test("A change of checkpoints counts for its time, and leaves ten requests", arguments: [true, false])
    func chargedForCheckpoints(forgets: Bool) async throws {
        let start = Date()
        var options = SyncServiceOptions()
        options.now = { start }
        options.requestsPerSecond = 2
        try await run(options) { server, clock in
            let device = try await server.device()
            // The second look is at the end of the transaction. It takes 300 ms, as much as thirty requests.
            clock.jump(atLook: 2, by: .milliseconds(300))
            if forgets {
                #expect(await server.service.forget(Data(), token: device.token).status == 204)
            } else {
                try await device.acknowledge([])
            }
            for _ in 1...10 { #expect(await server.service.acknowledged(token: device.token).status == 200) }
            #expect(await server.service.acknowledged(token: device.token).status == 429)
        }
    }

    @Test("A push that fails counts as one request, whatever its number of mutations")
    func givenBack() async throws {
        let start = Date()
        var options = SyncServiceOptions()
        options.now = { start }
        options.requestsPerSecond = 1
        try await run(options) { server, _ in
            let device = try await server.device()
            // The last mutation is not the next one.
            let gap = try puts(499) + puts(1, from: 900)
            #expect(await server.service.push(body(gap), token: device.token).status == 409)
            // Nine of ten requests are left, and each push counts as six.
            for first in [Int64(1), 501] {
                #expect(try await device.send(try puts(500, from: first)).count == 500)
            }
            let reply = await server.service.push(body(try puts(1, from: 1_001)), token: device.token)
            #expect(reply.status == 429 && reply.headers["retry-after"] == "4", "\(reply)")
        }
    }
}

@Suite("Statements of pushes", .timeLimit(.minutes(10)))
struct PushStatementTests {
    /// Returns the number of transactions of a push and that of its statements, with the beginning, the time limit and
    /// the end of each transaction.
    private func cost(
        of mutations: [SyncMutation], device: TestDevice, database: WatchedDatabase
    ) async throws -> (transactions: Int, statements: Int) {
        database.clear()
        #expect(try await device.send(mutations).count == mutations.count)
        // PostgreSQL sets the time limit with a statement.
        let others = database.dialect == .postgres ? 3 : 2
        return (
            database.transactions,
            database.statements.count + 2 * database.savepoints + others * database.transactions
        )
    }

    private func line(
        _ sequence: Int64, operation: SyncMutation.Operation = .put, key: String? = nil, type: String = "RecipeV2",
        values: [String: SyncValue] = ["title": .text("Soup"), "servings": .integer(4), "rating": .real(0.1)]
    ) throws -> SyncMutation {
        SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType(type)), operation: operation,
            key: key ?? "r\(sequence)", row: SyncRow(values))
    }

    @Test("A push of one row takes one transaction and at most eight statements")
    func one() async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            #expect(try await device.send([try line(1)]).allSatisfy(\.outcome.isApplied))
            let patch = ["title": SyncValue.text("Broth")]
            let step: [String: SyncValue] = ["recipeID": .text("r2")]
            for mutation in [
                try line(2), try line(3, type: "StepV1", values: step),
                try line(4, operation: .patch, key: "r2", values: patch),
                try line(5, operation: .delete, key: "r1", values: [:]),
            ] {
                let cost = try await cost(of: [mutation], device: device, database: database)
                #expect(cost.transactions == 1 && cost.statements <= 8, "\(cost): \(database.statements)")
            }
            #expect(try await server.count("recipe", where: "title = 'Broth'") == 1)
            #expect(try await server.count("recipe") == 1)
            #expect(try await server.count("step") == 1)
        }
    }

    @Test("A push of 500 new rows takes one transaction and at most twenty statements")
    func many() async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            #expect(try await device.send([try line(1)]).allSatisfy(\.outcome.isApplied))
            let recipes = try (Int64(2)...301).map { try line($0) }
            let steps = try (Int64(302)...501).map {
                try line($0, type: "StepV1", values: ["recipeID": .text("r\($0 - 300)")])
            }
            let cost = try await cost(of: recipes + steps, device: device, database: database)
            #expect(cost.transactions == 1 && cost.statements <= 20, "\(database.statements)")
            #expect(try await server.count("recipe") == 301)
            #expect(try await server.count("step") == 200)
        }
    }

    @Test("Answers to new rows have the positions that streams send, in their order")
    func positions() async throws {
        try await TestServer.watched { server, _ in
            let device = try await server.device()
            let results = try await device.send(try (Int64(1)...50).map { try line($0) })
            let positions = results.compactMap { result -> SyncPosition? in
                guard case .applied(let position) = result.outcome else { return nil }
                return position
            }
            #expect(positions == positions.sorted())
            #expect(Set(positions).count == 50)
            let delivery = try await device.delivery()
            #expect(delivery.items == (1...50).map { "Recipe r\($0)" })
            let recipes = delivery.tokens.filter { $0.place.type.name == "Recipe" }
            #expect(recipes.prefix(50).map(\.position) == positions)
        }
    }

    @Test("A refused row among new rows is refused alone, and every kind of value arrives")
    func refused() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let values: [String: SyncValue] = [
                "title": .text("\u{e9} \"q\" \\ \n {x,NULL}"), "servings": .integer(.min), "rating": .real(-0.1),
                "image": .blob([0, 255, 1]), "note": .null,
            ]
            let results = try await device.send([
                try line(1, values: values), try line(2, values: ["servings": .integer(1)]),
                try line(3, type: "StepV1", values: ["recipeID": .text("r2")]),
                try line(4, key: "r1"), try line(5, values: ["title": .text("")]),
            ])
            #expect(results.map(\.outcome.isApplied) == [true, false, false, true, true])
            let other = try await device.send([try line(6, values: values), try line(7, values: ["title": .text("x")])])
            #expect(other.map(\.outcome.isApplied) == [true, true])
            let row = try #require(try await device.delivery().rows.first { $0.text("id") == "r6" })
            let others = values.filter { row[$0.key] != $0.value }
            #expect(others.isEmpty)
        }
    }
}

@Suite("Stored push results", .timeLimit(.minutes(10)))
struct KeptAnswerTests {
    private func line(
        _ sequence: Int64, operation: SyncMutation.Operation, values: [String: SyncValue]
    ) throws -> SyncMutation {
        SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType("RecipeV2")), operation: operation,
            key: "r1", row: SyncRow(values))
    }

    @Test("A refusal is stored without its row and repeated with the current row")
    func refusals() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let image = SyncValue.blob(Array(repeating: 7, count: 100_000))
            let first = try line(1, operation: .put, values: ["title": .text("Soup"), "image": image])
            let refused = try line(2, operation: .patch, values: ["nothing": .integer(1)])
            #expect(try await device.send([first, refused]).count == 2)
            let kept = "SELECT max(length(result)) || '' FROM sync_mutation"
            #expect(Int(try await server.text(kept) ?? "") ?? .max < 200)
            let again = try await device.send([first, refused])
            #expect(again.first?.outcome.isApplied == true)
            guard case .rejected(let failure, let row) = again.last?.outcome else {
                Issue.record("\(again)")
                return
            }
            #expect(failure.code == .unknownColumn && row?["image"] == image)
            // The next push acknowledges both results.
            #expect(
                try await device.send([try line(3, operation: .patch, values: ["title": .text("Stew")])]).count == 1)
            #expect(try await server.count("sync_mutation", where: "result LIKE '%rejected%'") == 0)
        }
    }

    @Test("The server stores at most a thousand results of a session")
    func many() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            for request in 0..<5 {
                let numbers = Int64(request * 500 + 1)...Int64(request * 500 + 500)
                let mutations = try numbers.map { try line($0, operation: .put, values: ["title": .text("\($0)")]) }
                #expect(try await device.send(mutations).count == 500)
                #expect(try await server.count("sync_mutation") <= 1_000)
            }
            // The last reply may have been lost.
            let last = try (Int64(2_001)...2_500).map {
                try line($0, operation: .put, values: ["title": .text("\($0)")])
            }
            #expect(try await device.send(last).allSatisfy(\.outcome.isApplied))
        }
    }
}
