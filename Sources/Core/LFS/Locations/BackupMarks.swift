import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// The marks that exclude local copies from the backup of an Apple device, if the storage has their bytes.
///
/// A mark follows from the rows, by the same facts as an eviction. A file that is not uploaded, or whose object is
/// damaged, is in the backup. Marks are checked for all copies when the work begins, and for single files after a
/// change.
final class BackupMarks: Sendable {
    private let exclusion: BackupExclusion
    private let noted = Mutex<Set<FileID>>([])
    /// Notified when a file was noted.
    let hasNotes = Signal()

    private static let page = 500

    init(_ exclusion: BackupExclusion) {
        self.exclusion = exclusion
    }

    /// Records that the rows of a file have changed, or that its local copy is new.
    func note(_ id: FileID) {
        noted.withLock { _ = $0.insert(id) }
        // Not only for the first one, because a failed refresh keeps its files.
        hasNotes.notify()
    }

    /// Excludes the folders of bytes that can be downloaded or made again. Blocks the thread.
    func excludeFolders(of store: LocalStore) throws {
        for path in try store.renewablePaths() { try exclusion.exclude(path) }
    }

    /// Sets the marks of the files that were noted since the last call, and of those that an error has left.
    func refreshNoted(_ store: LocalStore, runner: BackgroundRunner) async throws {
        let ids = noted.withLock { noted in
            defer { noted = [] }
            return noted
        }
        do {
            for page in Array(ids).chunks(of: Self.page) { try await refresh(Array(page), of: store, runner: runner) }
        } catch {
            noted.withLock { $0.formUnion(ids) }
            throw error
        }
    }

    /// Sets the marks of all local copies.
    func refreshAll(_ store: LocalStore, runner: BackgroundRunner) async throws {
        let cursor = try await BlockingPool.shared.run { _ in
            try self.excludeFolders(of: store)
            return try store.files()
        }
        try await cursor.forEachPage { page in
            try Task.checkCancellation()
            try await refresh(page.map(\.id), of: store, runner: runner)
        }
    }

    private func refresh(_ ids: [FileID], of store: LocalStore, runner: BackgroundRunner) async throws {
        if ids.isEmpty { return }
        let facts = try await runner.read { db in try CopyTable.facts(of: Set(ids), db) }
        let renewable = Set(facts.filter { $0.isUploaded && $0.isProven }.map(\.id))
        let exclusion = exclusion
        try await BlockingPool.shared.run { _ in
            // A file without a row may be the only copy of a row that an older database lacks.
            for id in ids where try store.contains(id) {
                let path = store.path(of: id)
                if renewable.contains(id) { try exclusion.exclude(path) } else { try exclusion.include(path) }
            }
        }
    }
}
