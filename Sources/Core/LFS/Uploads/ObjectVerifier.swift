import Foundation
import LFSDatabase
import LFSStorage
import LFSSystem
import Synchronization

/// A comparison of complete objects with their rows, without keeping any bytes.
///
/// The result is recorded: correct bytes as the proof of the object, other bytes as its damage.
struct ObjectVerifier: Sendable {
    enum Outcome: Sendable {
        /// The object has the file's bytes.
        case right
        /// The object has other bytes, or the storage lists it and does not return it.
        case damaged
        /// The storage did not return it now.
        case unread(StorageError)
    }

    /// The object has more bytes than the file. The exact number is irrelevant.
    private struct TooMany: Error {}

    let runner: BackgroundRunner
    /// The storage, with retries.
    let storage: any RemoteStorage
    let wallClock: @Sendable () -> Date
    /// Receives a file whose object was recorded as damaged.
    var onDamage: @Sendable (FileID) -> Void = { _ in }

    /// - Returns: the outcome, and the number of bytes read.
    /// - Throws: an error when the database fails.
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
            try await noteDamage(of: file.id, "The storage returned more than the \(file.byteCount) bytes of the file.")
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
        try await noteDamage(of: file.id, "The storage returned \(byteCount) bytes with the SHA-256 \(sha256).")
        return (.damaged, byteCount)
    }

    // MARK: Records

    /// Records that correct bytes were read from a file's object. The object is proven, and neither lost nor damaged.
    func noteRightBytes(of id: FileID) async throws {
        // Few files need the write, and a read does not block the writer.
        guard try await runner.readThroughCancellation({ db in try JobTable.isInDoubt(id, db) }) else { return }
        try await runner.write { db in try JobTable.noteRightBytes(of: id, db) }
    }

    /// Records that other bytes than the file's, or none, were read from its object. Until correct bytes are proven,
    /// its local bytes are kept and verifications report the damage.
    func noteDamage(of id: FileID, _ reason: String) async throws {
        let now = wallClock().millisecondsSince1970
        try await runner.write { db in try JobTable.noteDamage(of: id, reason, now: now, db) }
        onDamage(id)
    }

    /// Records an object as damaged if the error of its download, after all retries, means that.
    ///
    /// - Returns: whether it is damaged.
    func noteDamage(of file: FileRow, _ error: StorageError) async throws -> Bool {
        guard try await isDamage(error, file: file) else { return false }
        try await noteDamage(of: file.id, "The storage lists the object but does not return it. \(error.message)")
        return true
    }

    /// Returns whether a failed download means a damaged object. A server may refuse an object that it found damaged,
    /// or fail on it repeatedly, while its listing still names the object. A failure concerns only this object if the
    /// storage returns another one at the same time.
    private func isDamage(_ error: StorageError, file: FileRow) async throws -> Bool {
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
            // The failure is not limited to this object, so the error of the download is reported.
            return false
        }
    }
}
