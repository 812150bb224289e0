import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import LFSTransfer

/// Deletes the files that their owners have let go of, unless something still refers to them.
struct DisownedFiles: Sendable {
    let runner: BackgroundRunner
    let policy: RetryPolicy
    let wallClock: @Sendable () -> Date

    private static let batch = 500

    /// Works off the notes that are due. Each batch is looked at and deleted in one transaction, so no reference can
    /// come between. A file that the database refuses to delete keeps its note and a reason, and is tried again later.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner``, database errors; nothing is deleted then.
    func delete() async throws {
        let now = wallClock().millisecondsSince1970
        let later = now + policy.maxRetryAfter.milliseconds
        while true {
            let notes = try await runner.read { db in
                try DisownedTable.due(now: now, furthest: later, limit: Self.batch, db)
            }
            if notes.isEmpty { return }
            do {
                try await delete(notes)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                for note in notes { try await delete(note, orAgainAt: later) }
            }
        }
    }

    private func delete(_ notes: [DisownedTable.Note]) async throws {
        try await runner.write { db in try DisownedTable.deleteFiles(of: notes, db) }
    }

    /// A reference that only a cascade would reach, or a rule of the host's, may stand against it, some at the commit.
    private func delete(_ note: DisownedTable.Note, orAgainAt later: Int64) async throws {
        do {
            try await delete([note])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            let reason = error.message
            try await runner.write { db in try DisownedTable.putOff(note, until: later, reason, db) }
        }
    }
}
