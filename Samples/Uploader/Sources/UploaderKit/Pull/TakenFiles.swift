import Synchronization

/// The files whose places another process has taken first. The mutex owns the state.
final class TakenFiles: Sendable {
    struct File: Sendable {
        let attached: AttachedDocument
        /// True if its local copy was downloaded only for this pull.
        let isFetched: Bool
    }

    private let files = Mutex<[File]>([])

    func add(_ attached: AttachedDocument, isFetched: Bool) {
        files.withLock { $0.append(File(attached: attached, isFetched: isFetched)) }
    }

    /// Removes and returns the files for another attempt.
    func takeAll() -> [File] {
        files.withLock { files in
            defer { files = [] }
            return files
        }
    }
}
