import Foundation
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Refused credentials", .timeLimit(.minutes(10)))
struct RefusedCredentialsTests {
    private let memory = InMemoryStorage()

    @Test(
        "Credentials refused for a minute cost no file and no attempt, and few requests",
        arguments: [StorageError.Code.unauthorized, .forbidden, .misconfigured])
    func expired(_ code: StorageError.Code) async throws {
        let clock = ManualClock()
        let storage = ExpiringStorage(memory, code: code, clock: clock, away: .seconds(1) ..< .seconds(61))
        let source = try UploadSource.temporary([1, 2, 3])
        let journal = InMemoryJournal(clock: clock) { _ in .upload(source) }
        try await withPool(storage, jobs: numbers(0..<100), journal: journal, clock: clock) { harness in
            await harness.waitForEnd(of: 100)
            clock.advance(by: .seconds(1))
            try journal.add(numbers(100..<300))
            harness.pool.wake()
            await harness.events.wait { $0.contains { $0.outage == code.rawValue } }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await clock.runFreely() }
                await harness.waitForEnd(of: 300)
                group.cancelAll()
            }
            #expect(journal.endings.values.allSatisfy { $0 == .uploaded })
            #expect(numbers(0..<300).allSatisfy { journal.attempts(of: $0) == 0 })
            #expect(harness.events.events.allSatisfy { $0.failure == nil })
            #expect(harness.events.events.compactMap(\.outage) == [code.rawValue, "over"])
            #expect(journal.outages == [nil, code, nil])
            // 10 under way, one immediate probe because the error may concern a single file, and probes after 0.1, 0.2,
            // … 25.6 s.
            #expect(storage.refused <= 10 + 1 + 10)
        }
        #expect(memory.keys.count == 300)
    }

    @Test(
        "A key that the storage always refuses fails alone, and all others are uploaded",
        arguments: [false, true])
    func forbiddenKey(answersLast: Bool) async throws {
        let answer = Latch()
        if !answersLast { answer.open() }
        let storage = ChoosyStorage(base: memory, forbidden: ["test/3", "test/40", "test/41"], answer: answer)
        let refused: [FileID] = ["3", "40", "41"]
        try await withPool(storage, random: 0, jobs: numbers(0..<60)) { harness in
            await harness.events.wait { $0.count { $0.uploadedID != nil } == 57 }
            answer.open()
            // A file is blamed only while others are accepted. All others may have ended before this one was refused
            // often enough.
            var more = 60
            while !refused.allSatisfy({ harness.journal.endings[$0] != nil }) {
                let id: FileID = "\(more)"
                try harness.journal.add([id])
                harness.pool.wake()
                await harness.events.wait { $0.contains { $0.uploadedID == id } }
                more += 1
            }
            // No upload has shown that the storage is back, so a probe may still be needed when all jobs have ended.
            await harness.events.wait { [journal = harness.journal, more] _ in journal.endedCount >= more }
            let failed = harness.journal.endings.filter { $0.value != .uploaded }
            #expect(failed == ["3": .failed(.forbidden), "40": .failed(.forbidden), "41": .failed(.forbidden)])
        }
    }

    @Test("The only file is not given up while credentials are refused")
    func onlyFile() async throws {
        let storage = FailingStorage(memory, times: 12, with: StorageError(.forbidden, message: "Denied."))
        try await withPool(storage, jobs: ["a"]) { harness in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await harness.clock.runFreely() }
                await harness.waitForEnd(of: 1)
                group.cancelAll()
            }
            #expect(harness.journal.endings == ["a": .uploaded])
            #expect(harness.events.events.compactMap(\.outage) == ["forbidden", "over"])
        }
    }

    @Test("The first checkpoint of a large file ends an outage of refused credentials")
    func checkpoint() async throws {
        let gate = Gated(memory)
        try await withPool(gate, large: ["large"]) { harness in
            await harness.events.wait { $0.contains { $0.outage == "unauthorized" } }
            harness.pool.resume()
            await harness.events.wait { $0.contains { $0.outage == "over" } }
            #expect(harness.pool.runningCount == 1)
            gate.end.open()
            await harness.waitForEnd(of: 1)
        }
    }

    @Test("Deletions wait while credentials are refused, and one may be the probe")
    func deletions() {
        var state = PoolState(maxExecutors: 4)
        let refused = StorageError(.unauthorized, message: "Expired.")
        #expect(state.admitDeletion() == .free)
        #expect(state.admitDeletion() == .free)
        _ = state.endDeletion(.free, error: refused)
        #expect(state.outage?.error.code == .unauthorized)
        #expect(state.admitDeletion() == nil, "the wait is not over")
        _ = state.endDeletion(.free, error: nil)
        #expect(state.outage?.mayProbe == true, "an upload under way shows that the outage may be over")
        #expect(state.admitDeletion() == .probe)
        #expect(state.admitDeletion() == nil, "one deletion at a time")
        _ = state.endDeletion(.probe, error: refused)
        #expect(state.outage?.failures == 2)
        _ = state.allowProbe()
        #expect(state.admitDeletion() == .probe)
        _ = state.endDeletion(.probe, error: nil)
        #expect(state.outage == nil)
        #expect(state.admitDeletion() == .free)
    }

    @Test("A refused deletion is not an outage for uploads")
    func mayNotDelete() {
        var state = PoolState(maxExecutors: 4)
        _ = state.endDeletion(.free, error: StorageError(.forbidden, message: "You may not delete."))
        #expect(state.outage == nil)
    }
}

@Suite("Server errors for every request", .timeLimit(.minutes(10)))
struct FailingStorageTests {
    @Test("A storage that fails every request gets one probe at a time and loses no file")
    func streak() async throws {
        let memory = InMemoryStorage()
        let clock = ManualClock()
        let storage = ExpiringStorage(memory, code: .serverError, clock: clock, away: .zero ..< .seconds(600))
        let source = try UploadSource.temporary([1, 2, 3])
        let journal = InMemoryJournal(clock: clock) { _ in .upload(source) }
        try await withPool(storage, jobs: numbers(0..<400), journal: journal, clock: clock) { harness in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await clock.runFreely() }
                await harness.waitForEnd(of: 400)
                group.cancelAll()
            }
            #expect(journal.endings.values.allSatisfy { $0 == .uploaded })
            #expect(harness.events.events.compactMap(\.outage) == ["serverError", "over"])
            // The failures in a row, the uploads under way at their end, and a probe each minute once the delays have
            // grown.
            #expect(storage.refused <= PoolState.maxFailuresInARow + 10 + 10 + 10)
            // Jobs that were not probes have not waited longer than the storage was away.
            #expect(clock.now.offset < .seconds(1_200))
        }
    }
}

/// A storage that refuses every upload with a given code during a time range of a manual clock.
///
/// The atomic owns the count.
final class ExpiringStorage: StorageWrapper {
    let base: any RemoteStorage
    private let code: StorageError.Code
    private let clock: ManualClock
    private let away: Range<Duration>
    private let count = Atomic(0)

    init(_ base: any RemoteStorage, code: StorageError.Code, clock: ManualClock, away: Range<Duration>) {
        self.base = base
        self.code = code
        self.clock = clock
        self.away = away
    }

    var refused: Int { count.load(ordering: .relaxed) }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        if away.contains(clock.now.offset) {
            count.add(1, ordering: .relaxed)
            throw StorageError(code, message: "Not now.", key: key)
        }
        return try await base.upload(source, to: key, session: session)
    }
}

/// A storage whose policy excludes some keys.
struct ChoosyStorage: StorageWrapper {
    let base: any RemoteStorage
    let forbidden: Set<String>
    /// Opens when the storage may answer requests for forbidden keys.
    let answer: Latch

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        if forbidden.contains(key.rawValue) { await answer.wait() }
        if forbidden.contains(key.rawValue) { throw StorageError(.forbidden, message: "Not this one.", key: key) }
        return try await base.upload(source, to: key, session: session)
    }
}

/// A storage that refuses the first upload. The next upload saves a checkpoint and ends when the test opens the latch.
private final class Gated: StorageWrapper {
    let base: any RemoteStorage
    let end = Latch()
    private let calls = Atomic(0)

    init(_ base: any RemoteStorage) { self.base = base }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        if calls.add(1, ordering: .relaxed).newValue == 1 { throw StorageError(.unauthorized, message: "Expired.") }
        try await session.save(UploadCheckpoint(rawValue: .init([1])))
        await end.wait()
        return try await base.upload(source, to: key, session: session)
    }
}
