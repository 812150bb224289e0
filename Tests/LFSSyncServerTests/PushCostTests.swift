import Foundation
import Logging
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// A clock that a test sets.
///
/// Owner of the time: the mutex.
final class PushClock: Sendable {
    private struct State {
        var now = ContinuousClock.now
        var step = Duration.zero
        /// Looks until the jump.
        var jump: (looks: Int, by: Duration)?
    }

    private let state = Mutex(State())

    /// Each look at the clock takes so long.
    func setStep(_ step: Duration) { state.withLock { $0.step = step } }

    /// The clock jumps once, with the look that has this number from now on.
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

@Suite("What one account's push costs others", .timeLimit(.minutes(10)))
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

    private func body(_ mutations: [SyncMutation]) -> Data {
        var bytes: [UInt8] = []
        for mutation in mutations { mutation.write(to: &bytes) }
        return Data(bytes)
    }

    @Test("A push whose time is spent commits its first mutations, and the device sends the rest again")
    func spent() async throws {
        try await run { server, clock in
            let device = try await server.device()
            let mutations = try puts(40)
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
            #expect(try await server.count("recipe") == 40)
        }
    }

    @Test("A push with a mutation that takes more than five seconds is rolled back, and those before it are applied")
    func slow() async throws {
        try await run { server, clock in
            let device = try await server.device()
            // The clock is read at the start, after each mutation, and before each but the first.
            clock.jump(atLook: 4, by: .seconds(6))
            let results = try await device.send(try puts(3))
            #expect(results.count == 1 && results.allSatisfy(\.outcome.isApplied))
            #expect(try await server.count("recipe") == 1)
            // Alone it takes too long as well: nothing is refused, and nothing is applied.
            clock.setStep(.seconds(6))
            let next = try puts(3).dropFirst()
            let reply = await server.service.push(body(Array(next)), token: device.token)
            #expect(reply.status == 503 && reply.headers["retry-after"] == "60")
            guard case .whole(let data) = reply.body else {
                Issue.record("\(reply)")
                return
            }
            #expect(String(decoding: data, as: UTF8.self).contains("too_slow"))
            #expect(try await server.count("recipe") == 1)
            clock.setStep(.zero)
            #expect(try await device.send(Array(next)).allSatisfy(\.outcome.isApplied))
            #expect(try await server.count("recipe") == 3)
        }
    }

    @Test("A push counts as one request and one more for each hundred mutations")
    func charged() async throws {
        let start = Date()
        var options = SyncServiceOptions()
        options.now = { start }
        options.requestsPerSecond = 1
        try await run(options) { server, _ in
            let device = try await server.device()
            // Ten requests at once: 6, then 6 more with what is left of them.
            for first in [Int64(1), 501] {
                #expect(try await device.send(try puts(500, from: first)).count == 500)
            }
            let reply = await server.service.push(body(try puts(1, from: 1_001)), token: device.token)
            #expect(reply.status == 429 && reply.headers["retry-after"] == "3", "\(reply)")
        }
    }
}

@Suite("What the server keeps of its answers", .timeLimit(.minutes(10)))
struct KeptAnswerTests {
    private func line(
        _ sequence: Int64, _ operation: SyncMutation.Operation, _ values: [String: SyncValue]
    ) throws -> SyncMutation {
        SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType("RecipeV2")), operation: operation,
            key: "r1", row: SyncRow(values))
    }

    @Test("A refusal is kept without the row until the device has heard it, and comes again with the row")
    func refusals() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let image = SyncValue.blob(Array(repeating: 7, count: 100_000))
            let first = try line(1, .put, ["title": .text("Soup"), "image": image])
            let refused = try line(2, .patch, ["nothing": .integer(1)])
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
            // The next push says that both were heard.
            #expect(try await device.send([try line(3, .patch, ["title": .text("Stew")])]).count == 1)
            #expect(try await server.count("sync_mutation", where: "result LIKE '%rejected%'") == 0)
        }
    }

    @Test("At most a thousand answers of a session are kept")
    func many() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            for request in 0..<5 {
                let numbers = Int64(request * 500 + 1)...Int64(request * 500 + 500)
                let mutations = try numbers.map { try line($0, .put, ["title": .text("\($0)")]) }
                #expect(try await device.send(mutations).count == 500)
                #expect(try await server.count("sync_mutation") <= 1_000)
            }
            // The last request may have been lost on its way back.
            let last = try (Int64(2_001)...2_500).map { try line($0, .put, ["title": .text("\($0)")]) }
            #expect(try await device.send(last).allSatisfy(\.outcome.isApplied))
        }
    }
}
