package import LFSStorage
import Synchronization

/// The progress of a multipart upload. It reports the sum of the finished and the running parts.
///
/// The mutex owns the state.
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

    /// Records how many bytes of a running part have been sent.
    package func moved(_ part: PartPlan.Part, to byteCount: Int64) {
        report { $0.underWay[part.number] = byteCount }
    }

    /// Drops the bytes of a part whose upload failed.
    package func lost(_ part: PartPlan.Part) {
        report { $0.underWay[part.number] = nil }
    }

    /// Records that the server has a part, from this attempt or an earlier one.
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
