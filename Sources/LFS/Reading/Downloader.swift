import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Fetches the bytes of one file from the remote storage into the local store, and goes on where an earlier try ended.
///
/// It retries by itself, since only it can begin again at the first byte: where the storage names no version, and once
/// when the bytes turn out not to be those of the row.
struct Downloader: Sendable {
    let store: LocalStore
    let storage: any RemoteStorage
    let backoff: Backoff
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double

    /// How many tries in a row may bring next to nothing.
    private static let maxAttempts = 4
    /// A try that brings this many bytes was worth it, if they can be kept or are more than any before it brought.
    private static let worthwhileByteCount: Int64 = 64 * 1_024

    /// Returns when the bytes are checked, durable and in the store. Wrong bytes never get there.
    ///
    /// - Parameters:
    ///   - onArrival: called when the right bytes of a small file are here and only wait for the disk.
    ///   - onProgress: takes how many bytes are here so far, those of earlier tries included.
    func fetch(
        _ file: FileRow, onArrival: @Sendable () -> Void, onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let incoming = try await begin(file)
        do {
            try await fill(incoming, file, onArrival, onProgress)
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
        // A small file needs no disk yet, so no thread has to be changed for it.
        if file.byteCount <= IncomingFile.smallByteCount {
            return try IncomingFile(file.id, byteCount: file.byteCount, in: store)
        }
        return try await BlockingPool.shared.run { flag in
            try IncomingFile(file.id, byteCount: file.byteCount, in: store, flag)
        }
    }

    private func fill(
        _ incoming: IncomingFile, _ file: FileRow, _ onArrival: @Sendable () -> Void,
        _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let retries = Retries(
            maxAttempts: Self.maxAttempts, backoff: backoff, clock: clock, random: random, repeatsCancelled: true)
        let download = ResumingDownload(
            retries, worthwhileByteCount: Self.worthwhileByteCount,
            arrived: { .init(byteCount: incoming.byteCount, entityTag: incoming.entityTag) },
            restart: { try await beginAgain(incoming) })
        // Whether the last try went on with bytes of an earlier one.
        var wasResumed = false
        func attempt(_ arrived: ResumingDownload.Arrived) async throws {
            wasResumed = arrived.byteCount > 0
            if arrived.byteCount < file.byteCount { try await transfer(incoming, file, arrived, onProgress) }
            try await incoming.finish(sha256: file.sha256) { if incoming.isSmall { onArrival() } }
        }
        do {
            try await download.run(attempt)
        } catch let error where wasResumed && Self.isOtherContent(error) {
            // What came before does not fit to what comes now; either may be the wrong one.
            try await beginAgain(incoming)
            try await download.run(attempt)
        }
    }

    private func transfer(
        _ incoming: IncomingFile, _ file: FileRow, _ arrived: ResumingDownload.Arrived,
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

    /// Whether the object, or what is here of it, is not what the row describes.
    private static func isOtherContent(_ error: any Error) -> Bool {
        switch error {
        case let error as FileError: error.code == .sourceChanged
        case let error as StorageError: error.code == .changed || error.code == .rangeRefused
        default: false
        }
    }

    /// Whether a later try may go on with what is here.
    private static func keepsBytes(_ error: any Error) -> Bool {
        if let error = error as? StorageError { return !error.isMissing && !isOtherContent(error) }
        return error is CancellationError
    }
}
