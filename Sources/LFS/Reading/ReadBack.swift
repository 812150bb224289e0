import Foundation
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

    let runner: BackgroundRunner
    /// With retries.
    let storage: any RemoteStorage
    let wallClock: @Sendable () -> Date

    /// - Returns: what came of it, and how many bytes were read.
    /// - Throws: when the database fails.
    func run(_ file: FileData) async throws -> (outcome: Outcome, byteCount: Int64) {
        let hash = Mutex(ContentHash())
        let reason: String
        do {
            let key = try ObjectKey(file.key)
            _ = try await storage.download(
                DownloadRequest(key), into: DownloadSink { bytes in hash.withLock { $0.update(bytes) } })
            let (sha256, byteCount) = hash.withLock { ($0.hex, $0.byteCount) }
            if sha256 == file.sha256, byteCount == file.byteCount {
                try await runner.noteRightBytes(of: file.id)
                return (.right, byteCount)
            }
            reason = "It gave \(byteCount) bytes with the SHA-256 \(sha256)."
        } catch let error as StorageError {
            guard try await isDamage(error, file) else { return (.unread(error), hash.withLock { $0.byteCount }) }
            reason = "The storage names it and does not give it. \(error.message)"
        }
        try await runner.noteDamage(of: file.id, reason, at: wallClock())
        return (.damaged, hash.withLock { $0.byteCount })
    }

    private func isDamage(_ error: StorageError, _ file: FileData) async throws -> Bool {
        guard error.isMissing else { return false }
        do {
            return try await storage.lists(ObjectKey(file.key))
        } catch is StorageError {
            // Then nobody knows, and the error of the download is the one to tell.
            return false
        }
    }
}
