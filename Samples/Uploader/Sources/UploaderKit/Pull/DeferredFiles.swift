import LFS
import LFSStorage
import Synchronization

/// The files that the storage could not provide because it is unavailable or refuses everything. The mutex owns the
/// state.
final class DeferredFiles: Sendable {
    private struct State {
        var refusal: StorageError?
        var files: [AttachedDocument] = []
        /// The number of files that were already reported.
        var toldCount = 0
    }

    private let state = Mutex(State())
    private let report: Report

    init(_ report: Report) { self.report = report }

    /// The reason why the storage provides nothing, if it is known.
    var refusal: StorageError? { state.withLock { $0.refusal } }

    /// - Parameter refusal: the storage's error. Nil if it was not asked again.
    func add(_ file: AttachedDocument, refusal: StorageError? = nil) {
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

    /// Removes and returns the files for another attempt.
    func takeAll() -> [AttachedDocument] {
        let files = state.withLock { state in
            defer { state = State(toldCount: state.toldCount) }
            return state.files
        }
        let toldCount = state.withLock { $0.toldCount }
        report.changeTally { $0.notPulled = toldCount }
        return files
    }

    /// Adds files back that were not attempted.
    func giveBack(_ files: some Sequence<AttachedDocument>) {
        let count = state.withLock { state in
            state.files += files
            return state.toldCount + state.files.count
        }
        report.changeTally { $0.notPulled = count }
    }

    /// Reports the files when there are no more attempts.
    func tell() {
        let (files, refusal) = state.withLock { state in
            defer { state = State(toldCount: state.toldCount + state.files.count) }
            return (state.files, state.refusal)
        }
        guard let refusal else { return }
        report.notPulled(files, reason: ErrorMessages.of(refusal))
    }
}

extension StorageError {
    /// Returns the storage error if it concerns the storage as a whole. Nil if it may be caused by the file.
    static func ofWholeStorage(_ error: any Error) -> StorageError? {
        let error = (error as? LFSError)?.cause as? StorageError
        return error?.isAboutStorage == true ? error : nil
    }
}
