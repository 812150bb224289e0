import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// A download of one file from the remote storage into the local store. It resumes where an earlier attempt ended.
///
/// It does its own retries, because only it can start over at the first byte. It does so when the storage names no
/// version, and once when the bytes turn out to differ from the row.
struct Downloader: Sendable {
    let store: LocalStore
    let storage: any RemoteStorage
    let backoff: Backoff
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double

    /// The maximum number of consecutive attempts that make next to no progress.
    private static let maxAttempts = 4
    /// An attempt that transfers this many bytes has made progress, if the bytes can be kept or exceed those of every
    /// earlier attempt.
    private static let worthwhileByteCount: Int64 = 64 * 1_024

    /// Returns when the bytes are checked, durable and in the store. Wrong bytes never enter the store.
    ///
    /// - Parameters:
    ///   - onDownload: called when the correct bytes of a small file have arrived and only wait for the disk.
    ///   - onProgress: receives the number of bytes that have arrived so far, including those of earlier attempts.
    /// - Returns: true if this call has read every byte from the object, which proves the object. Bytes that an earlier
    ///   download has left do not prove it, and an empty file is not read at all.
    func fetch(
        _ file: FileRow, onDownload: @Sendable () -> Void, onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> Bool {
        let incoming = try await begin(file)
        do {
            try await fill(incoming, file: file, onDownload, onProgress)
            return file.byteCount > 0 && !incoming.hasEarlierBytes
        } catch {
            if incoming.isSmall { throw error }
            let failure = error
            try await BlockingPool.shared.run { _ in
                if Self.keepsBytes(failure) { try incoming.leave() } else { try incoming.discard() }
            }
            throw failure
        }
    }

    private func begin(_ file: FileRow) async throws -> IncomingFile {
        let store = store
        // A small file needs no disk access yet, so no change of thread is needed.
        if file.byteCount <= IncomingFile.smallByteCount {
            return try IncomingFile(file.id, byteCount: file.byteCount, in: store)
        }
        return try await BlockingPool.shared.run { flag in
            try IncomingFile(file.id, byteCount: file.byteCount, in: store, flag: flag)
        }
    }

    private func fill(
        _ incoming: IncomingFile, file: FileRow, _ onDownload: @Sendable () -> Void,
        _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let retries = Retries(
            maxAttempts: Self.maxAttempts, backoff: backoff, clock: clock, random: random, repeatsCancelled: true)
        let download = ResumingDownload(
            retries, worthwhileByteCount: Self.worthwhileByteCount,
            arrived: { .init(byteCount: incoming.byteCount, entityTag: incoming.entityTag) },
            restart: { try await beginAgain(incoming) })
        // True if the last attempt has resumed with bytes of an earlier one.
        var wasResumed = false
        func attempt(_ arrived: ResumingDownload.ResumedRange) async throws {
            wasResumed = arrived.byteCount > 0
            if arrived.byteCount < file.byteCount {
                try await transfer(incoming, file: file, arrived: arrived, onProgress)
            }
            try await incoming.finish(sha256: file.sha256) { if incoming.isSmall { onDownload() } }
        }
        do {
            try await download.run(attempt)
        } catch let error where wasResumed && Self.isOtherContent(error) {
            // The earlier bytes do not match the new ones. Either may be wrong.
            try await beginAgain(incoming)
            try await download.run(attempt)
        }
    }

    private func transfer(
        _ incoming: IncomingFile, file: FileRow, arrived: ResumingDownload.ResumedRange,
        _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let request = DownloadRequest(try ObjectKey(file.key)).rest(after: arrived, end: file.byteCount)
        onProgress(arrived.byteCount)
        let sink = DownloadSink(mayBlock: !incoming.isSmall, onBegin: incoming.begin(entityTag:)) { bytes in
            try incoming.write(bytes)
            onProgress(incoming.byteCount)
        }
        _ = try await storage.download(request, into: sink)
    }

    private func beginAgain(_ incoming: IncomingFile) async throws {
        try await BlockingPool.shared.run { _ in try incoming.restart() }
    }

    // MARK: Errors

    /// Returns whether the object, or its local part, differs from the row.
    private static func isOtherContent(_ error: any Error) -> Bool {
        switch error {
        case let error as FileError: error.code == .sourceChanged
        case let error as StorageError: error.code == .changed || error.code == .rangeRefused
        default: false
        }
    }

    /// Returns whether a later attempt may resume with the existing bytes.
    private static func keepsBytes(_ error: any Error) -> Bool {
        if let error = error as? StorageError { return !error.isMissing && !isOtherContent(error) }
        return error is CancellationError
    }
}
