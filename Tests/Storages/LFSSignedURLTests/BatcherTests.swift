import LFSStorage
import LFSSystem
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Batches of signing requests", .timeLimit(.minutes(10)))
struct BatcherTests {
    private let clock = ManualClock()

    @Test("Requests within five milliseconds are batched up to the server's limit")
    func together() async throws {
        let fake = FakeSigner(clock: clock)
        fake.state.withLock { $0.description.largestBatch = 30 }
        let storage = try fake.storage()
        for number in 0..<75 { fake.state.withLock { $0.objects["space/\(number)"] = [1] } }
        try await runningFreely(clock) { _ = try await storage.client.description() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<75 { group.addTask { _ = try await storage.head(.sample("\(number)")) } }
            await clock.waitForSleepers()
            // All requests are in the batch before its time ends.
            try await yield(while: storage.client.gathering(.head) < 75)
            clock.advance(by: SignRequestBatcher<Int, Int>.window)
            try await group.waitForAll()
        }
        #expect(fake.asked(.head) == [30, 30, 15])
    }

    @Test("A full batch is sent at once")
    func full() async throws {
        let sent = Mutex<[Int]>([])
        let batcher = SignRequestBatcher<Int, Int>(upTo: 3, clock: clock) { asks in
            sent.withLock { $0.append(asks.count) }
            return asks.map { .success($0 * 2) }
        }
        let answers = try await batcher.outcomes(of: [1, 2, 3, 4, 5, 6]).map { try $0.get() }
        #expect(answers == [2, 4, 6, 8, 10, 12])
        #expect(sent.withLock { $0 } == [3, 3])
        #expect(batcher.batchCount == 0)
    }

    @Test("A cancelled request ends at once without affecting the rest of its batch")
    func cancelled() async throws {
        let (began, gate) = (Latch(), Latch())
        let batcher = SignRequestBatcher<Int, Int>(upTo: 2, clock: clock) { asks in
            began.open()
            await gate.waitThroughCancellation()
            return asks.map { .success($0) }
        }
        let leaves = Task { try await batcher.answer(to: 1) }
        let stays = Task { try await batcher.answer(to: 2) }
        await began.wait()
        leaves.cancel()
        let error = try await storageError { try await leaves.value }
        #expect(error?.code == .cancelled)
        gate.open()
        #expect(try await stays.value == 2)
    }

    @Test("A batch without waiting requests is cancelled")
    func abandoned() async throws {
        let began = Latch()
        let ended = Mutex(false)
        let batcher = SignRequestBatcher<Int, Int>(upTo: 1, clock: clock) { asks in
            began.open()
            await Latch().wait()
            ended.withLock { $0 = true }
            return asks.map { .success($0) }
        }
        let ask = Task { try await batcher.answer(to: 1) }
        await began.wait()
        ask.cancel()
        _ = try await storageError { try await ask.value }
        #expect(ended.withLock { $0 }, "the call waits for the cancelled batch")
        #expect(batcher.batchCount == 0)
    }

    @Test(
        "Upcoming uploads are signed with the first one",
        arguments: [nil, [SigningDescription.Digest.sha256, .md5]])
    func ahead(_ partDigests: [SigningDescription.Digest]?) async throws {
        let fake = FakeSigner(clock: clock)
        fake.cut(from: 100)
        fake.state.withLock { $0.description.parts?.digests = partDigests }
        let storage = try fake.storage()
        let names = (0..<90).map { "f\($0)" }
        let waiting = Mutex(names)
        let upcoming: @Sendable (Int) -> [UpcomingUpload] = { limit in
            waiting.withLock { $0 }.prefix(limit).compactMap { name in
                try? UpcomingUpload(key: .sample(name), byteCount: 1, sha256: SampleBytes.sha256([1]))
            }
        }
        try await runningFreely(clock) {
            for name in names {
                waiting.withLock { $0.removeAll { $0 == name } }
                _ = try await storage.put([1], name: name, session: UploadSession(upcoming: upcoming))
            }
        }
        #expect(fake.objects.count == 90)
        #expect(fake.asked(.upload) == [90])
        #expect(storage.uploads.readyCount == 0)
    }

    @Test("Uploads are not signed ahead for files in parts or without the option")
    func notAhead() async throws {
        let upcoming: @Sendable (Int) -> [UpcomingUpload] = { _ in
            (try? [UpcomingUpload(key: .sample("large"), byteCount: 5, sha256: SampleBytes.sha256([1]))]) ?? []
        }
        for isOn in [true, false] {
            let fake = FakeSigner()
            fake.cut(from: isOn ? 5 : 6)
            let storage = try fake.storage { $0.signsAhead = isOn }
            _ = try await storage.put([1], session: UploadSession(upcoming: upcoming))
            #expect(fake.asked(.upload) == [1])
            #expect(fake.state.withLock { $0.uploads.isEmpty })
        }
    }
}
