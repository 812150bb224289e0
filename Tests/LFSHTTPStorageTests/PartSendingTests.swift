import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Sending parts", .timeLimit(.minutes(10)))
struct PartSendingTests {
    /// The error of five parts of ten bytes.
    private func error(
        sha256: String? = nil, _ send: @escaping @Sendable (PartPlan.Part) async throws -> Void
    ) async throws -> StorageError? {
        let source = try UploadSource.temporary(SampleBytes.make(50), sha256: sha256)
        let plan = try #require(PartPlan(byteCount: 50, partSize: 10, maximumCount: 5))
        let sending = PartSending(plan, SourceDigester(source, .sha256), Permits(10))
        do {
            try await sending.run { _, _ in
                false
            } send: { part, _ in
                try await send(part)
            }
            return nil
        } catch let error as StorageError {
            return error
        }
    }

    /// As a request that is under way, until it is cancelled.
    private static func hold() async throws {
        await Latch().wait()
        throw StorageError(.cancelled, "The request was cancelled.")
    }

    @Test("tells what went wrong first, and not that it has cancelled the others for it")
    func firstError() async throws {
        // Which of the tasks ends first is chance.
        for _ in 0..<300 {
            let changed = try await error(sha256: SampleBytes.sha256([0])) { _ in try await Self.hold() }
            try #require(changed?.code == .sourceChanged)
            let refused = try await error { part in
                if part.number == 2 { throw StorageError(.forbidden, "No.") }
                try await Self.hold()
            }
            try #require(refused?.code == .forbidden)
        }
    }
}
