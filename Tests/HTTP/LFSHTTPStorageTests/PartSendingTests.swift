import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Sending of parts", .timeLimit(.minutes(10)))
struct PartSendingTests {
    /// Returns the error of sending five parts of ten bytes.
    private func error(
        sha256: String? = nil, _ send: @escaping @Sendable (PartPlan.Part) async throws -> Void
    ) async throws -> StorageError? {
        let source = try UploadSource.temporary(SampleBytes.make(50), sha256: sha256)
        let plan = try #require(PartPlan(byteCount: 50, partSize: 10, maximumCount: 5))
        let sending = PartSending(plan, digester: SourceDigester(source, kinds: .sha256), permits: AsyncSemaphore(10))
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

    /// Waits like a request in progress until the task is cancelled.
    private static func hold() async throws {
        await Latch().wait()
        throw StorageError(.cancelled, message: "The request was cancelled.")
    }

    @Test("The first error is reported instead of the cancellations that it causes")
    func firstError() async throws {
        // The order in which the tasks end is random.
        for _ in 0..<300 {
            let changed = try await error(sha256: SampleBytes.sha256([0])) { _ in try await Self.hold() }
            try #require(changed?.code == .sourceChanged)
            let refused = try await error { part in
                if part.number == 2 { throw StorageError(.forbidden, message: "No.") }
                try await Self.hold()
            }
            try #require(refused?.code == .forbidden)
        }
    }
}
