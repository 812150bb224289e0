import LFSStorage
package import LFSSystem
import Synchronization

/// The upload of a source's parts. It reads the parts in order and sends those that the server does not have, several
/// concurrently.
///
/// It reads the bytes once for their digests and compares them with the recorded digest before the last part is sent.
/// So a changed source never becomes a complete object.
package struct PartSending: Sendable {
    package let plan: PartPlan
    package let digester: SourceDigester
    /// The permits that limit the number of concurrent parts. Other files may share them.
    package let permits: AsyncSemaphore

    package init(_ plan: PartPlan, digester: SourceDigester, permits: AsyncSemaphore) {
        self.plan = plan
        self.digester = digester
        self.permits = permits
    }

    /// Sends the parts of the plan concurrently, except for those that the server already has.
    ///
    /// - Parameters:
    ///   - isThere: returns true if the server has the part from an earlier attempt.
    ///   - send: sends one part. An error cancels the other parts and is rethrown.
    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes are not the recorded ones.
    package func run(
        isThere: (PartPlan.Part, PayloadDigest) async throws -> Bool,
        send: @escaping @Sendable (PartPlan.Part, PayloadDigest) async throws -> Void
    ) async throws {
        let permits = permits
        // The first error. The group may report the cancellation of another part instead. Also, a failed part releases
        // its permit before the group is cancelled, so a further part could start in between.
        let first = FirstError()
        do {
            try await withThrowingDiscardingTaskGroup { group in
                do {
                    for number in 1...plan.count {
                        let part = plan.part(number)
                        let digest = try await digester.next(Int64(part.range.count))
                        if number == plan.count { try await digester.requireWhole() }
                        if try await isThere(part, digest) { continue }
                        try await permits.acquire()
                        // A part has failed. Its error ends the group, and further parts are useless.
                        if group.isCancelled || first.error != nil { return permits.release() }
                        group.addTask {
                            defer { permits.release() }
                            do {
                                try await send(part, digest)
                            } catch {
                                throw first.note(error)
                            }
                        }
                    }
                } catch {
                    throw first.note(error)
                }
            }
        } catch {
            throw first.error ?? error
        }
    }
}

/// The first error of several concurrent tasks. The mutex owns the state.
private final class FirstError: Sendable {
    private let state = Mutex<(any Error)?>(nil)

    var error: (any Error)? { state.withLock { $0 } }

    /// - Returns: the same error.
    func note(_ error: any Error) -> any Error {
        state.withLock { if $0 == nil { $0 = error } }
        return error
    }
}
