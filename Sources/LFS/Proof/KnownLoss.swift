import Foundation
import LFSDatabase
import LFSSystem

/// What reading an object has shown of it, durable in the file's rows.
extension BackgroundRunner {
    /// Notes that right bytes were read from a file's object: it is proven, and neither lost nor damaged.
    func noteRightBytes(of id: FileID) async throws {
        // Nearly no file needs it, and a look costs the writer nothing.
        guard try await readThroughCancellation({ db in try JobTable.isInDoubt(id, db) }) else { return }
        try await write { db in try JobTable.noteRightBytes(of: id, db) }
    }

    /// Notes that other bytes than the file's were read from its object, or none: its local bytes stay from now on, and
    /// verifications tell it, until right ones are proven.
    func noteDamage(of id: FileID, _ reason: String, at time: Date) async throws {
        let now = time.millisecondsSince1970
        try await write { db in try JobTable.noteDamage(of: id, reason, now: now, db) }
    }
}
