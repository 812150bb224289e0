import Foundation
import LFSDatabase
import LFSStorage
import LFSSystem
import Synchronization

/// Reads objects to their end and compares them with what the rows say, without keeping a byte.
///
/// What it sees is noted: right bytes as the proof of the object, others as its damage.
struct ReadBack: Sendable {
    enum Outcome: Sendable {
        /// The object has the file's bytes.
        case right
        /// It has others, or is named by the storage and not given.
        case damaged
        /// The storage did not give it now.
        case unread(StorageError)
    }

    /// More bytes came than the file has: how many more there are does not matter.
    private struct TooMany: Error {}

    let runner: BackgroundRunner
    /// With retries.
    let storage: any RemoteStorage
    let wallClock: @Sendable () -> Date

    /// - Returns: what came of it, and how many bytes were read.
    /// - Throws: when the database fails.
    func run(_ file: FileRow) async throws -> (outcome: Outcome, byteCount: Int64) {
        let hash = Mutex(ContentHash())
        do {
            _ = try await storage.download(
                DownloadRequest(try ObjectKey(file.key)),
                into: DownloadSink { bytes in
                    let count = hash.withLock { hash in
                        hash.update(bytes)
                        return hash.byteCount
                    }
                    if count > file.byteCount { throw TooMany() }
                })
        } catch is TooMany {
            try await noteDamage(of: file.id, "The storage gave more than the \(file.byteCount) bytes of the file.")
            return (.damaged, hash.withLock { $0.byteCount })
        } catch let error as StorageError {
            let isDamaged = try await noteDamage(of: file, error)
            return (isDamaged ? .damaged : .unread(error), hash.withLock { $0.byteCount })
        }
        let (sha256, byteCount) = hash.withLock { ($0.hex, $0.byteCount) }
        if sha256 == file.sha256, byteCount == file.byteCount {
            try await noteRightBytes(of: file.id)
            return (.right, byteCount)
        }
        try await noteDamage(of: file.id, "The storage gave \(byteCount) bytes with the SHA-256 \(sha256).")
        return (.damaged, byteCount)
    }

    // MARK: Noting

    /// Notes that right bytes were read from a file's object: it is proven, and neither lost nor damaged.
    func noteRightBytes(of id: FileID) async throws {
        // Nearly no file needs it, and a look costs the writer nothing.
        guard try await runner.readThroughCancellation({ db in try JobTable.isInDoubt(id, db) }) else { return }
        try await runner.write { db in try JobTable.noteRightBytes(of: id, db) }
    }

    /// Notes that other bytes than the file's were read from its object, or none: its local bytes stay from now on, and
    /// verifications tell it, until right ones are proven.
    func noteDamage(of id: FileID, _ reason: String) async throws {
        let now = wallClock().millisecondsSince1970
        try await runner.write { db in try JobTable.noteDamage(of: id, reason, now: now, db) }
    }

    /// Notes an object as damaged if that is what the error of its download, after all retries, means.
    ///
    /// - Returns: whether it is.
    func noteDamage(of file: FileRow, _ error: StorageError) async throws -> Bool {
        guard try await isDamage(error, file) else { return false }
        try await noteDamage(of: file.id, "The storage names it and does not give it. \(error.message)")
        return true
    }

    /// Servers put what they find rotten out of reach, or fail over it again and again, while their listing still names
    /// it. A failure is the object's own when the storage gives another one meanwhile.
    private func isDamage(_ error: StorageError, _ file: FileRow) async throws -> Bool {
        guard [.integrity, .missing, .serverError].contains(error.code) else { return false }
        let other =
            error.code == .serverError
            ? try await runner.readThroughCancellation { db in try FileTable.healthyRemote(besides: file.id, db) } : nil
        do {
            let key = try ObjectKey(file.key)
            let listed = try await storage.list(ListRequest(prefix: key.rawValue, limit: 1)).objects
            guard listed.contains(where: { $0.key == key }) else { return false }
            guard let other else { return true }
            _ = try await storage.download(
                DownloadRequest(try ObjectKey(other.key), range: 0..<1), into: DownloadSink { _ in })
            return true
        } catch is StorageError {
            // The storage has more trouble than this object, and the error of the download is the one to tell.
            return false
        }
    }
}
