import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Storage outages", .timeLimit(.minutes(10)))
struct OutageTests {
    private let memory = InMemoryStorage()

    @Test("During an outage one probe at a time runs with growing delays, and no file fails")
    func probes() async throws {
        let storage = UnreachableStorage(memory)
        try await withPool(storage, maxExecutors: 10, jobs: numbers(0..<50)) { harness in
            let clock = harness.clock
            await harness.events.wait { $0.contains { $0.outage == "unreachable" } }
            // The jobs that failed together are due again as soon as they are recorded. Nothing else is due.
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
            #expect(harness.events.events.allSatisfy { $0.failure == nil }, "no file is reported as failed")
        }
        #expect(memory.keys.count == 50)
    }

    @Test("Resuming the pool probes an unreachable storage at once")
    func resume() async throws {
        let storage = UnreachableStorage(memory)
        try await withPool(storage, jobs: numbers(0..<20)) { harness in
            await harness.events.wait { $0.contains { $0.outage == "unreachable" } }
            storage.setReachable(true)
            harness.pool.resume()
            await harness.waitForEnd(of: 20)
        }
    }

    @Test("Resuming the pool during a probe allows another probe after it")
    func resumeDuringProbe() throws {
        var state = PoolState(maxExecutors: 2)
        let away = StorageError(.unreachable, message: "Nobody answers.")
        func admit() -> Admission? { state.admitDeletion() }
        func end(_ admission: Admission?) throws { _ = state.endDeletion(try #require(admission), error: away) }
        try end(admit())
        #expect(admit() == nil)
        _ = state.askForProbe()
        let probe = admit()
        _ = state.askForProbe()
        #expect(admit() == nil)
        // The network came back while the probe was failing.
        try end(probe)
        try end(admit())
        #expect(admit() == nil)
    }

    @Test("Random temporary failures lose no job", arguments: [1, 2, 3, 4] as [UInt64])
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

/// A storage that fails about every third upload. The seed determines the failures.
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
        if number < codes.count { throw StorageError(codes[number], message: "By chance.") }
        return try await base.upload(source, to: key, session: session)
    }
}
