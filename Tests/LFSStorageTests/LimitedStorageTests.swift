import LFSStorage
import LFSTesting
import TestSupport
import Testing

@Suite("A limit of calls", .timeLimit(.minutes(10)))
struct LimitedStorageTests {
    private let gate = GatedStorage(InMemoryStorage())

    private func key(_ number: Int) throws -> ObjectKey { try ObjectKey("test/\(number)") }

    @discardableResult
    private func upload(_ number: Int, to storage: some RemoteStorage) async throws -> RemoteObject {
        try await storage.upload(.temporary([1, 2, 3]), to: key(number), session: UploadSession())
    }

    @Test("is never exceeded, and everyone has a turn", arguments: [(0, 1), (1, 1), (3, 3)])
    func limit(_ asked: Int, _ limit: Int) async throws {
        let storage = LimitedStorage(gate, concurrentCalls: asked)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 { group.addTask { try await upload(number, to: storage) } }
            await gate.waitForArrivals(limit)
            #expect(gate.waiting.count == limit)
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.maxConcurrentCalls == limit)
        #expect(gate.arrivals.count == 20)
    }

    @Test("lets a cancelled call go at once, and gives its turn to the next")
    func cancelledWhileWaiting() async throws {
        let storage = LimitedStorage(gate, concurrentCalls: 1)
        let first = Task { try await upload(1, to: storage) }
        await gate.waitForArrivals(1)
        let second = Task { try await upload(2, to: storage) }
        second.cancel()
        let error = await #expect(throws: StorageError.self) { try await second.value }
        #expect(error?.code == .cancelled)
        let third = Task { try await upload(3, to: storage) }
        gate.open()
        _ = try await (first.value, third.value)
        #expect(gate.arrivals == [try key(1), try key(3)])
    }

    @Test("loses no turn when calls are cancelled at any moment")
    func noTurnIsLost() async throws {
        let storage = LimitedStorage(gate, concurrentCalls: 3)
        gate.open()
        var generator = SeededGenerator(seed: 11)
        let tasks = (0..<300).map { number in Task { try await upload(number, to: storage) } }
        for task in tasks.shuffled(using: &generator).prefix(200) {
            task.cancel()
            await Task.yield()
        }
        for task in tasks { _ = await task.result }
        gate.close()
        let before = gate.arrivals.count
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1_000..<1_003 { group.addTask { try await upload(number, to: storage) } }
            await gate.waitForArrivals(before + 3)
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.maxConcurrentCalls == 3)
    }

    @Test("is given back by a call that fails")
    func failureGivesBack() async throws {
        let storage = LimitedStorage(InMemoryStorage(), concurrentCalls: 1)
        for _ in 1...3 { await #expect(throws: StorageError.self) { try await storage.head(key(1)) } }
        try await upload(1, to: storage)
    }
}
