import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

@Suite("Progress of an upload in parts", .timeLimit(.minutes(10))) struct MultipartProgressTests {
    private let plan = PartPlan(byteCount: 1_000, partSize: 10)

    /// A row that saves when a gate opens and can fail.
    ///
    /// The mutex owns its state.
    private final class Row: Sendable {
        struct State {
            var saved: [MultipartCheckpoint] = []
            var underWay = 0
            var mostUnderWay = 0
            var failures = 0
            var bytes: [Int64] = []
        }
        let state = Mutex(State())
        let gate: Latch?

        init(gate: Latch? = nil, failures: Int = 0) {
            self.gate = gate
            state.withLock { $0.failures = failures }
        }

        var session: UploadSession {
            UploadSession { bytes in
                self.state.withLock { $0.bytes.append(bytes) }
            } onSave: { checkpoint in
                self.state.withLock { state in
                    state.underWay += 1
                    state.mostUnderWay = max(state.mostUnderWay, state.underWay)
                }
                await self.gate?.wait()
                try self.state.withLock { state in
                    state.underWay -= 1
                    if state.failures > 0 {
                        state.failures -= 1
                        throw StorageError(.noSpace, message: "The database is full.")
                    }
                    if let value = MultipartCheckpoint(checkpoint) { state.saved.append(value) }
                }
            }
        }
    }

    private func progress(_ row: Row) throws -> MultipartProgress {
        let source = try UploadSource.temporary([1])
        let checkpoint = MultipartCheckpoint(uploadID: "u", source: source, partSize: 10, .sha256)
        return MultipartProgress(checkpoint, session: row.session)
    }

    private func word(_ number: Int) throws -> MultipartCheckpoint.Part {
        let tag = try #require(EntityTag("tag-\(number)"))
        return .init(tag, digest: PayloadDigest(sha256: "\(number)"))
    }

    @Test("Concurrent saves of one checkpoint are merged, and no completed part is lost") func coalescing() async throws
    {
        let gate = Latch()
        let row = Row(gate: gate)
        let progress = try progress(row)
        let plan = try #require(plan)
        let marked = EventLog<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...100 {
                group.addTask {
                    progress.has(plan.part(number), word: try self.word(number))
                    marked.add(number)
                    try await progress.save()
                }
            }
            await marked.wait { $0.count == 100 }
            gate.open()
            try await group.waitForAll()
        }
        let state = row.state.withLock { $0 }
        #expect(state.mostUnderWay == 1)
        #expect(state.saved.last?.parts.count == 100)
        #expect(state.saved.last == progress.checkpoint)
        #expect(state.saved.count < 100)
        for (earlier, later) in zip(state.saved, state.saved.dropFirst()) {
            #expect(Set(earlier.parts.keys).isSubset(of: later.parts.keys))
        }
    }

    @Test("A failed save is followed by a save of all parts") func failedSave() async throws {
        let row = Row(failures: 1)
        let progress = try progress(row)
        let plan = try #require(plan)
        progress.has(plan.part(1), word: try word(1))
        await #expect(throws: StorageError.self) { try await progress.save() }
        progress.has(plan.part(2), word: try word(2))
        try await progress.save()
        #expect(row.state.withLock { $0.saved.last?.parts.keys.sorted() } == [1, 2])
    }

    @Test("Progress counts stored and moving bytes and subtracts lost ones") func bytes() throws {
        let row = Row()
        let progress = try progress(row)
        let plan = try #require(plan)
        progress.moved(plan.part(1), to: 4)
        progress.moved(plan.part(2), to: 10)
        progress.has(plan.part(2), word: try word(2))
        progress.moved(plan.part(1), to: 7)
        progress.lost(plan.part(1))
        progress.has(plan.part(1), word: try word(1))
        #expect(row.state.withLock { $0.bytes } == [4, 14, 14, 17, 10, 20])
    }
}
