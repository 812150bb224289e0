import LFSHTTPStorage
import LFSStorage
import Synchronization

/// Keeps count of an upload in parts: what the server has, what is on its way, and what is durable of that.
final class MultipartProgress: Sendable {
    private struct State {
        var checkpoint: MultipartCheckpoint
        var isSaving = false
        var isDirty = false
    }

    private let session: UploadSession
    private let bytes: PartProgress
    private let state: Mutex<State>

    init(_ checkpoint: MultipartCheckpoint, _ session: UploadSession) {
        self.session = session
        bytes = PartProgress(session)
        state = Mutex(State(checkpoint: checkpoint))
    }

    var checkpoint: MultipartCheckpoint { state.withLock(\.checkpoint) }

    /// A part has this many bytes on their way.
    func moved(_ part: PartPlan.Part, to byteCount: Int64) { bytes.moved(part, to: byteCount) }

    /// A part did not arrive.
    func lost(_ part: PartPlan.Part) { bytes.lost(part) }

    /// The server has a part, from this try or from an earlier one.
    func has(_ part: PartPlan.Part, _ word: MultipartCheckpoint.Part) {
        state.withLock { $0.checkpoint.parts[part.number] = word }
        bytes.has(part)
    }

    /// Saves the checkpoint. Of calls that come together one saves, again as long as more has become known; the others
    /// return at once.
    func save() async throws {
        guard var next = nextToSave(first: true) else { return }
        while true {
            do {
                try await session.save(next.encoded())
            } catch {
                state.withLock { $0.isSaving = false }
                throw error
            }
            guard let newer = nextToSave(first: false) else { return }
            next = newer
        }
    }

    private func nextToSave(first: Bool) -> MultipartCheckpoint? {
        state.withLock { state in
            if first, state.isSaving {
                state.isDirty = true
                return nil
            }
            state.isSaving = first || state.isDirty
            state.isDirty = false
            return state.isSaving ? state.checkpoint : nil
        }
    }
}
