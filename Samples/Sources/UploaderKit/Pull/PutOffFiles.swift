import LFS
import LFSStorage
import Synchronization

/// The files that the storage could not give because it is away, or refuses everything. Owner of the state: the mutex.
final class PutOffFiles: Sendable {
    private struct State {
        var refusal: StorageError?
        var files: [AttachedDocument] = []
        /// How many were told already.
        var toldCount = 0
    }

    private let state = Mutex(State())
    private let report: Report

    init(_ report: Report) { self.report = report }

    /// Why the storage gives nothing, as far as is known.
    var refusal: StorageError? { state.withLock { $0.refusal } }

    /// - Parameter refusal: what the storage has said; nil when it was not asked once more.
    func add(_ file: AttachedDocument, _ refusal: StorageError? = nil) {
        let (isFirst, count) = state.withLock { state in
            let isFirst = state.refusal == nil
            state.refusal = state.refusal ?? refusal
            state.files.append(file)
            return (isFirst, state.toldCount + state.files.count)
        }
        report.changeTally { $0.notPulled = count }
        guard isFirst, let refusal, refusal.code.isMendedByWaiting else { return }
        report.away(refusal)
    }

    /// Takes them to try them again.
    func takeAll() -> [AttachedDocument] {
        let files = state.withLock { state in
            defer { state = State(toldCount: state.toldCount) }
            return state.files
        }
        let toldCount = state.withLock { $0.toldCount }
        report.changeTally { $0.notPulled = toldCount }
        return files
    }

    /// Gives those back that were not tried.
    func giveBack(_ files: some Sequence<AttachedDocument>) {
        let count = state.withLock { state in
            state.files += files
            return state.toldCount + state.files.count
        }
        report.changeTally { $0.notPulled = count }
    }

    /// Tells them when nothing comes any more.
    func tell() {
        let (files, refusal) = state.withLock { state in
            defer { state = State(toldCount: state.toldCount + state.files.count) }
            return (state.files, state.refusal)
        }
        guard let refusal else { return }
        report.notPulled(files, Words.of(refusal))
    }
}

extension StorageError {
    /// What the storage as a whole says in an error of one file; nil where that file is to blame, or may be.
    static func ofWholeStorage(_ error: any Error) -> StorageError? {
        let error = (error as? LFSError)?.cause as? StorageError
        return error?.isAboutStorage == true ? error : nil
    }
}
