import Synchronization

/// The files to whose places somebody else has come first. Owner of the state: the mutex.
final class TakenFiles: Sendable {
    struct File: Sendable {
        let attached: AttachedDocument
        /// Whether its local copy was fetched for this pull alone.
        let isFetched: Bool
    }

    private let files = Mutex<[File]>([])

    func add(_ attached: AttachedDocument, isFetched: Bool) {
        files.withLock { $0.append(File(attached: attached, isFetched: isFetched)) }
    }

    /// Takes them to try them again.
    func takeAll() -> [File] {
        files.withLock { files in
            defer { files = [] }
            return files
        }
    }
}
