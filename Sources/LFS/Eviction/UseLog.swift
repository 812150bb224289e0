import Foundation
import LFSDatabase
import LFSSystem
import Synchronization

/// When the local copies of files were last used, without a write for each use.
///
/// Uses are noted in memory and written to `lfs_copy.lastUsed` together: once in a while as long as the manager runs,
/// at its stop, and whenever somebody calls ``flush()`` because a decision depends on them. A crash loses the uses
/// since the last write, and nothing else.
final class UseLog: Sendable {
    private let runner: BackgroundRunner
    private let wallClock: @Sendable () -> Date
    private let unwritten = Mutex<[FileID: Int64]>([:])
    /// Who flushes has to find in the table what others were about to write, so flushes take turns.
    private let turns = Permits(1)
    /// Rings when there is something to write again.
    let hasNotes = Signal()

    private static let rowsPerWrite = 500

    init(runner: BackgroundRunner, wallClock: @escaping @Sendable () -> Date) {
        self.runner = runner
        self.wallClock = wallClock
    }

    /// Notes that the local copy of a file is used now. Costs no more than a lock.
    func noteUse(of id: FileID) {
        let now = wallClock().millisecondsSince1970
        let isFirst = unwritten.withLock { notes in
            notes[id] = now
            return notes.count == 1
        }
        if isFirst { hasNotes.notify() }
    }

    /// Returns when every use that was noted before the call is in `lfs_copy`. Files without a row are passed over.
    /// Works in a cancelled task too, as that of a `run()` is.
    ///
    /// - Throws: the database's error; what was not written is kept for the next time.
    func flush() async throws {
        try await turns.withPermitThroughCancellation {
            let notes = unwritten.withLock { notes in
                defer { notes = [:] }
                return notes
            }
            var rest = notes
            do {
                while !rest.isEmpty {
                    let page = Array(rest.prefix(Self.rowsPerWrite))
                    let now = wallClock().millisecondsSince1970
                    try await runner.write { db in try CopyTable.noteUses(page, now: now, db) }
                    for (id, _) in page { rest[id] = nil }
                }
            } catch {
                let failed = rest
                unwritten.withLock { $0.merge(failed) { newer, _ in newer } }
                hasNotes.notify()
                throw error
            }
        }
    }

    /// When the local copy of a file was last used; nil when it never was, as far as is known.
    func lastUse(of id: FileID) async throws -> Date? {
        if let note = unwritten.withLock({ $0[id] }) { return Date(millisecondsSince1970: note) }
        return try await runner.read { db in try CopyTable.lastUse(of: id, db) }.map(Date.init(millisecondsSince1970:))
    }
}
