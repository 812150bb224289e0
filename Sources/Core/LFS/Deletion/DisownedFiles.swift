import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import LFSTransfer

/// The deletion of files that their owners no longer refer to, unless another reference exists.
struct DisownedFiles: Sendable {
    let runner: BackgroundRunner
    let policy: RetryPolicy
    let wallClock: @Sendable () -> Date

    private static let batch = 500

    /// Processes the due notes. Each batch is checked and deleted in one transaction, so no reference can be added in
    /// between. A file that the database refuses to delete keeps its note with a reason, and is retried later.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner``, database errors. No file is deleted then.
    func delete() async throws {
        let now = wallClock().millisecondsSince1970
        let later = now + policy.maxRetryAfter.milliseconds
        while true {
            let notes = try await runner.read { db in
                try OwnerlessFileTable.due(now: now, furthest: later, limit: Self.batch, db)
            }
            if notes.isEmpty { return }
            do {
                try await delete(notes)
            } catch let error as DatabaseError where error.isRefusal {
                for note in notes { try await delete(note, orAgainAt: later) }
            }
        }
    }

    private func delete(_ notes: [OwnerlessFileTable.Note]) async throws {
        try await runner.write { db in try OwnerlessFileTable.deleteFiles(of: notes, db) }
    }

    /// Deletes one file, or delays it. A reference that only a cascade would reach, or a constraint of the app, may
    /// refuse the deletion, in some cases at the commit. A trigger of the app may fail.
    private func delete(_ note: OwnerlessFileTable.Note, orAgainAt later: Int64) async throws {
        do {
            try await delete([note])
        } catch let error as DatabaseError where error.isRefusal {
            let reason = error.message
            try await runner.write { db in try OwnerlessFileTable.putOff(note, until: later, reason: reason, db) }
        }
    }
}

extension DatabaseError {
    /// True if the cause is this deletion, and not the state of the database or its disk. `SQLITE_ERROR` comes from a
    /// trigger that fails, for example because it reads invalid JSON.
    fileprivate var isRefusal: Bool { [.SQLITE_CONSTRAINT, .SQLITE_ERROR].contains(resultCode) }
}
