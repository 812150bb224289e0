package import LFSStorage
import Synchronization

/// Adds up what the server has of an upload in parts and what is on its way, and reports the sum.
///
/// Owner of its state: the mutex.
package final class PartProgress: Sendable {
    private struct State {
        var finishedBytes: Int64 = 0
        var underWay: [Int: Int64] = [:]
    }

    private let session: UploadSession
    private let state = Mutex(State())

    package init(_ session: UploadSession) {
        self.session = session
    }

    /// A part has this many bytes on their way.
    package func moved(_ part: PartPlan.Part, to byteCount: Int64) {
        report { $0.underWay[part.number] = byteCount }
    }

    /// A part did not arrive.
    package func lost(_ part: PartPlan.Part) {
        report { $0.underWay[part.number] = nil }
    }

    /// The server has a part, from this try or from an earlier one.
    package func has(_ part: PartPlan.Part) {
        report { state in
            state.underWay[part.number] = nil
            state.finishedBytes += Int64(part.range.count)
        }
    }

    private func report(_ change: (inout State) -> Void) {
        let total = state.withLock { state in
            change(&state)
            return state.finishedBytes + state.underWay.values.reduce(0, +)
        }
        session.report(bytesTransferred: total)
    }
}
