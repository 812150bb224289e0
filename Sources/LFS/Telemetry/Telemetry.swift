import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer

/// Measures and traces what a manager does, for apps that have the package's traits `Metrics` and `Tracing` on. Without
/// them ``Instruments`` and ``Spans`` are empty, and everything here passes through.
///
/// It stands around whole operations: one try of an upload with the proof it needs, the download of a file with all of
/// its tries. So a storage that tries again by itself counts once.
struct Telemetry: Sendable {
    let instruments: Instruments
    private let spans: Spans

    /// - Parameter storage: the kind of the storage.
    init(storage: String) {
        instruments = Instruments(storage: storage)
        spans = Spans(storage: storage)
    }

    /// Takes the bytes of a file in.
    func ingest(as id: FileID, _ body: () async throws -> IngestedFile) async throws -> IngestedFile {
        try await instruments.measuring(.ingest) {
            try await spans.tracing(.ingest, of: id, in: .current, body) { $0.byteCount }
        }
    }

    /// Takes the bytes of many files in at once: one span for all of them, and of the time that it takes each has its
    /// share.
    func ingest(
        _ requests: [IngestRequest],
        _ body: ([IngestRequest]) async throws -> [Result<IngestedFile, FileError>]
    ) async throws -> [Result<IngestedFile, FileError>] {
        try await instruments.measuring(.ingest, all: requests.count) {
            guard let first = requests.first else { return [] }
            return try await spans.tracing(.ingest, of: first.id, count: requests.count, in: .current) {
                try await body(requests)
            } resulting: { files in
                files.reduce(0) { $0 + ((try? $1.get())?.byteCount ?? 0) }
            }
        }
    }

    /// Tries once to upload a file. It is part of no trace of the app's: the record may have been committed days ago.
    func upload(_ job: TransferJob, _ attempt: () async throws -> RemoteObject) async throws -> RemoteObject {
        try await instruments.measuring(.upload, byteCount: job.byteCount) {
            try await spans.tracing(
                .upload, of: job.id, job.byteCount, in: .none, attempt: job.attempts + 1, attempt)
        }
    }

    /// Fetches a file, or a part of it, with all the tries that this takes.
    ///
    /// - Parameters:
    ///   - byteCount: of the file, or of the part.
    ///   - trace: of who has asked for it first.
    func download(
        _ id: FileID, _ byteCount: Int64, in trace: TraceContext, _ body: () async throws -> Void
    ) async throws {
        try await instruments.measuring(.download, byteCount: byteCount) {
            try await spans.tracing(.download, of: id, byteCount, in: trace, body)
        }
    }

    /// Tries once to remove an object. The body returns why it is still there.
    func delete(_ body: () async -> StorageError?) async -> StorageError? {
        let error = await body()
        instruments.countDeletion(error)
        return error
    }

    /// An upload has failed, and will be tried again by itself.
    func noteRetry(after error: StorageError) { instruments.countRetry(error) }

    /// The queue of uploads may look otherwise than before.
    func noteQueueChange() { instruments.queueChange.note() }
}

/// What is measured, by the name that it has in metrics and spans.
enum TelemetryOperation: String, CaseIterable, Sendable {
    case ingest, upload, download, delete
}

/// How an operation ended, as a dimension of metrics: a few values, known beforehand.
enum TelemetryOutcome: String, CaseIterable, Sendable {
    case success, failure, cancelled
}
