import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("A storage that cannot be reached", .timeLimit(.minutes(10)))
struct OutageTests {
    private let memory = InMemoryStorage()

    @Test("is asked by one probe at a time, later and later, and blames no file")
    func probes() async throws {
        let storage = UnreachableStorage(memory)
        try await withPool(storage, maxExecutors: 10, jobs: numbers(0..<50)) { harness in
            let clock = harness.clock
            await harness.events.wait { $0.contains { $0.outage == "unreachable" } }
            // Those that failed together are due again as soon as they are recorded, and nothing else is.
            await harness.journal.reads.wait { _ in harness.pool.runningCount == 0 }
            await clock.waitForSleepers { $0.contains(.milliseconds(100)) }
            var refused = storage.refusedCalls
            #expect((1...10).contains(refused))
            for delay in [100, 200, 400, 800, 1_600] {
                await clock.waitForSleepers { $0.contains(.milliseconds(delay)) }
                clock.advance(by: .milliseconds(delay))
                await clock.waitForSleepers { $0.contains(.milliseconds(2 * delay)) }
                #expect(storage.refusedCalls == refused + 1, "one probe, not ten")
                refused = storage.refusedCalls
            }
            storage.setReachable(true)
            clock.advance(by: .milliseconds(3_200))
            await harness.waitForEnd(of: 50)
            #expect(numbers(0..<50).allSatisfy { harness.journal.attempts(of: $0) == 0 })
            #expect(harness.events.events.compactMap(\.outage) == ["unreachable", "over"])
            #expect(harness.events.events.allSatisfy { $0.failure == nil }, "no file is told to have failed")
        }
        #expect(memory.keys.count == 50)
    }

    @Test("is tried at once when the pool is told to go on")
    func resume() async throws {
        let storage = UnreachableStorage(memory)
        try await withPool(storage, jobs: numbers(0..<20)) { harness in
            await harness.events.wait { $0.contains { $0.outage == "unreachable" } }
            storage.setReachable(true)
            harness.pool.resume()
            await harness.waitForEnd(of: 20)
        }
    }

    @Test("is tried once more when the pool is told to go on while a try is under way")
    func resumeDuringProbe() throws {
        var state = PoolState(maxExecutors: 2)
        let away = StorageError(.unreachable, "Nobody answers.")
        func admit() -> Admission? { state.admitDeletion() }
        func end(_ admission: Admission?) throws { _ = state.endDeletion(try #require(admission), away) }
        try end(admit())
        #expect(admit() == nil)
        _ = state.askForProbe()
        let probe = admit()
        _ = state.askForProbe()
        #expect(admit() == nil)
        // The network came back while it was on its way in vain.
        try end(probe)
        try end(admit())
        #expect(admit() == nil)
    }

    @Test("for a moment costs no job, whatever fails meanwhile", arguments: [1, 2, 3, 4] as [UInt64])
    func flaky(_ seed: UInt64) async throws {
        let storage = FlakyStorage(base: memory, seed: seed)
        try await withPool(storage, maxExecutors: 4, jobs: numbers(0..<600), large: ["large-1", "large-2"]) { harness in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await harness.clock.runFreely() }
                await harness.waitForEnd(of: 602)
                group.cancelAll()
            }
            #expect(harness.journal.endings.allSatisfy { $0.value == .uploaded })
        }
        #expect(memory.keys.count == 602)
    }
}

/// A storage of which every third upload or so fails, in a way that follows from the seed.
final class FlakyStorage: StorageWrapper {
    let base: any RemoteStorage
    private let generator: LockedGenerator

    init(base: any RemoteStorage, seed: UInt64) {
        self.base = base
        generator = LockedGenerator(seed: seed)
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        let codes: [StorageError.Code] = [
            .unreachable, .timeout, .serverError, .throttled, .integrity, .unknown, .cancelled,
        ]
        let number = generator.next(below: 20)
        if number < codes.count { throw StorageError(codes[number], "By chance.") }
        return try await base.upload(source, to: key, session: session)
    }
}
