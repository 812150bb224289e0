import LFSHTTPStorage
import LFSStorage
import Synchronization

/// The progress of a multipart upload: the finished parts, the bytes being sent, and the saved checkpoint.
final class MultipartProgress: Sendable {
    private struct State {
        var checkpoint: MultipartCheckpoint
        var isSaving = false
        var isDirty = false
    }

    private let session: UploadSession
    private let bytes: PartProgress
    private let state: Mutex<State>

    init(_ checkpoint: MultipartCheckpoint, session: UploadSession) {
        self.session = session
        bytes = PartProgress(session)
        state = Mutex(State(checkpoint: checkpoint))
    }

    var checkpoint: MultipartCheckpoint { state.withLock(\.checkpoint) }

    /// Records how many bytes of a running part have been sent.
    func moved(_ part: PartPlan.Part, to byteCount: Int64) { bytes.moved(part, to: byteCount) }

    /// Drops the bytes of a part whose upload failed.
    func lost(_ part: PartPlan.Part) { bytes.lost(part) }

    /// Records that the server has a part, from this attempt or an earlier one.
    func has(_ part: PartPlan.Part, word: MultipartCheckpoint.Part) {
        state.withLock { $0.checkpoint.parts[part.number] = word }
        bytes.has(part)
    }

    /// Saves the checkpoint. Of concurrent calls, only one saves. It repeats until all changes are saved, and the
    /// others return at once.
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
