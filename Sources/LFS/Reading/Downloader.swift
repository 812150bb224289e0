import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Fetches the bytes of one file from the remote storage into the local store, and goes on where an earlier try ended.
///
/// It retries by itself, since only it knows how to go on: with the bytes that came, and only while the object is the
/// version that they are of. Bytes of two versions, or of a version nobody can name, are never put together: it begins
/// again at the first byte instead.
struct Downloader: Sendable {
    let store: LocalStore
    let storage: any RemoteStorage
    let backoff: Backoff
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double

    /// How many tries in a row may bring next to nothing.
    private static let maxFailures = 4
    /// A try that brings this many bytes was worth it, if they can be kept or are more than any before it brought.
    private static let worthwhileByteCount: Int64 = 64 * 1_024

    /// Returns when the bytes are checked, durable and in the store. Wrong bytes never get there.
    ///
    /// - Parameter onProgress: takes how many bytes are here so far, those of earlier tries included.
    func fetch(_ file: FileRow, onProgress: @escaping @Sendable (Int64) -> Void) async throws {
        let store = store
        let incoming = try await BlockingPool.shared.run { flag in
            try IncomingFile(file.id, byteCount: file.byteCount, in: store, flag)
        }
        do {
            try await fill(incoming, file, onProgress)
        } catch {
            let failure = error
            try await BlockingPool.shared.run { _ in
                if Self.keepsBytes(failure) { try incoming.leave() } else { try incoming.discard() }
            }
            throw failure
        }
    }

    private func fill(
        _ incoming: IncomingFile, _ file: FileRow, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        // Tries in a row that brought next to nothing.
        var failures = 0
        var furthest: Int64 = 0
        var hasBegunAgain = false
        while true {
            let start = incoming.byteCount
            do {
                if start < file.byteCount { try await transfer(incoming, file, from: start, onProgress) }
                return try await incoming.finish(sha256: file.sha256)
            } catch let error where start > 0 && !hasBegunAgain && Self.isOtherContent(error) {
                // What came before does not fit to what comes now; either may be the wrong one.
                (hasBegunAgain, failures, furthest) = (true, 0, 0)
                try await beginAgain(incoming)
            } catch let error as StorageError where error.isRetryable && !Task.isCancelled {
                let isWorthwhile = incoming.byteCount - max(start, furthest) >= Self.worthwhileByteCount
                failures = isWorthwhile ? 0 : failures + 1
                furthest = max(furthest, incoming.byteCount)
                guard failures < Self.maxFailures else { throw error }
                let delay = backoff.delay(afterFailures: max(failures, 1), random: random())
                try await clock.sleep(for: min(max(delay, error.retryAfter ?? .zero), backoff.cap))
                if incoming.entityTag == nil { try await beginAgain(incoming) }
            }
        }
    }

    private func transfer(
        _ incoming: IncomingFile, _ file: FileRow, from start: Int64, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        var request = DownloadRequest(try ObjectKey(file.key))
        if start > 0 {
            request.range = start..<file.byteCount
            request.entityTag = incoming.entityTag
        }
        onProgress(start)
        let sink = DownloadSink(onBegin: incoming.begin(entityTag:)) { bytes in
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
