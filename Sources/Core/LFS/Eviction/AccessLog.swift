import Foundation
import LFSDatabase
import LFSSystem
import Synchronization

/// A log of the last uses of local copies, without a write for each use.
///
/// Uses are recorded in memory and written to `lfs_copy.lastUsed` together: periodically while the manager runs, when
/// it stops, and at each ``flush()`` before a decision that depends on them. A crash loses only the uses since the last
/// write.
final class AccessLog: Sendable {
    private let runner: BackgroundRunner
    private let wallClock: @Sendable () -> Date
    private let unwritten = Mutex<[FileID: Int64]>([:])
    /// A flush must find the uses of a concurrent flush in the table, so flushes run one at a time.
    private let turns = AsyncSemaphore(1)
    /// Notified when there are new uses to write.
    let hasNotes = Signal()

    private static let rowsPerWrite = 500

    init(runner: BackgroundRunner, wallClock: @escaping @Sendable () -> Date) {
        self.runner = runner
        self.wallClock = wallClock
    }

    /// Records that the local copy of a file is used now. It costs no more than a lock.
    func noteUse(of id: FileID) {
        let now = wallClock().millisecondsSince1970
        let isFirst = unwritten.withLock { notes in
            notes[id] = now
            return notes.count == 1
        }
        if isFirst { hasNotes.notify() }
    }

    /// Returns when every use that was recorded before the call is in `lfs_copy`. Files without a row are skipped. It
    /// works in a cancelled task too, because the task of a `run()` may be cancelled.
    ///
    /// - Throws: the database's error. The uses that were not written are kept for the next flush.
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

    /// Returns the last use of the local copy of a file. Nil when no use is known.
    func lastUse(of id: FileID) async throws -> Date? {
        if let note = unwritten.withLock({ $0[id] }) { return Date(millisecondsSince1970: note) }
        return try await runner.read { db in try CopyTable.lastUse(of: id, db) }.map(Date.init(millisecondsSince1970:))
    }
}
