import LFSStorage
package import LFSSystem
import Synchronization

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
        // What went wrong first. A group may tell of a part that it has cancelled for it instead; and the permit of a
        // failed part is free before the group knows, so that a further part could begin in between.
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
                        // A part has failed: its error ends the group, and no further part is of use.
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

/// Owner: the mutex.
private final class FirstError: Sendable {
    private let state = Mutex<(any Error)?>(nil)

    var error: (any Error)? { state.withLock { $0 } }

    /// - Returns: the same.
    func note(_ error: any Error) -> any Error {
        state.withLock { if $0 == nil { $0 = error } }
        return error
    }
}
