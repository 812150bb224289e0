import LFSStorage
package import LFSSystem

/// Goes through the parts of a source in order, and sends those that are not there yet, several at once.
///
/// The bytes are read once for their digests and compared with what was recorded before the last part goes out, so that
/// other bytes are never all there.
package struct PartSending: Sendable {
    package let plan: PartPlan
    package let digester: SourceDigester
    /// How many parts are under way at once, perhaps also of other files.
    package let permits: Permits

    package init(_ plan: PartPlan, _ digester: SourceDigester, _ permits: Permits) {
        self.plan = plan
        self.digester = digester
        self.permits = permits
    }

    /// - Parameters:
    ///   - isThere: whether the server has a part of an earlier try.
    ///   - send: sends one. What it throws ends the others and comes out of this.
    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes are not the recorded ones.
    package func run(
        isThere: (PartPlan.Part, PayloadDigest) async throws -> Bool,
        send: @escaping @Sendable (PartPlan.Part, PayloadDigest) async throws -> Void
    ) async throws {
        let permits = permits
        // The permit of a failed part is free before the group has its error. This flag is set before either, so that
        // no further part begins in between.
        let hasFailed = CancellationFlag()
        try await withThrowingDiscardingTaskGroup { group in
            for number in 1...plan.count {
                let part = plan.part(number)
                let digest = try await digester.next(Int64(part.range.count))
                if number == plan.count { try await digester.requireWhole() }
                if try await isThere(part, digest) { continue }
                try await permits.acquire()
                // A part has failed: its error ends the group, and no further part is of use.
                if group.isCancelled || hasFailed.isCancelled { return permits.release() }
                group.addTask {
                    defer { permits.release() }
                    do {
                        try await send(part, digest)
                    } catch {
                        hasFailed.cancel()
                        throw error
                    }
                }
            }
        }
    }
}
