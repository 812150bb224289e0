import Foundation
import Synchronization
import Testing

@testable import JournalWeb

@Suite("The counts of files in the store", .timeLimit(.minutes(10)))
struct StoreCounterTests {
    /// A counter of a store with a number of files, on a manual clock.
    private final class Subject: Sendable {
        let time = Mutex(ContinuousClock.now)
        let counts = Mutex(0)
        let files: Int

        init(files: Int) { self.files = files }

        var counter: StoreCounter {
            StoreCounter(interval: .seconds(5)) {
                self.time.withLock { $0 }
            } read: {
                self.counts.withLock { $0 += 1 }
                return StoreCounts(copies: FileAmount(files: self.files))
            }
        }
    }

    @Test("A small store is counted for each page")
    func small() async throws {
        let subject = Subject(files: StoreCounter.maxSmall)
        let counter = subject.counter
        for _ in 0..<3 { #expect(try await counter.counts().copies.files == StoreCounter.maxSmall) }
        #expect(subject.counts.withLock { $0 } == 3)
    }

    @Test("A large store is counted once in an interval, also for concurrent pages")
    func large() async throws {
        let subject = Subject(files: StoreCounter.maxSmall + 1)
        let counter = subject.counter
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { _ = try await counter.counts() } }
            try await group.waitForAll()
        }
        #expect(subject.counts.withLock { $0 } == 1)
        subject.time.withLock { $0 += .seconds(5) }
        _ = try await counter.counts()
        #expect(subject.counts.withLock { $0 } == 2)
    }
}
