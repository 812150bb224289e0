import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer

/// The metrics and traces of a manager, for apps that enable the package's traits `Metrics` and `Tracing`. Without the
/// traits, ``Instruments`` and ``Spans`` are empty and only run their bodies.
///
/// It covers whole operations: one attempt of an upload with its proof, or the download of a file with all its
/// attempts. So the internal retries of a storage do not count separately.
struct Telemetry: Sendable {
    let instruments: Instruments
    private let spans: Spans

    /// - Parameter storage: the kind of the storage.
    init(storage: String) {
        instruments = Instruments(storage: storage)
        spans = Spans(storage: storage)
    }

    /// Measures the ingest of one file.
    func ingest(as id: FileID, _ body: () async throws -> IngestedFile) async throws -> IngestedFile {
        try await instruments.measuring(.ingest) {
            try await spans.tracing(.ingest, of: id, in: .current, body) { $0.byteCount }
        }
    }

    /// Measures the ingest of many files at once. They share one span, and each file is assigned an equal share of the
    /// time.
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

    /// Measures one attempt to upload a file. It starts a new trace, because the record may have been committed days
    /// ago.
    func upload(_ job: TransferJob, _ attempt: () async throws -> RemoteObject) async throws -> RemoteObject {
        try await instruments.measuring(.upload, byteCount: job.byteCount) {
            try await spans.tracing(
                .upload, of: job.id, byteCount: job.byteCount, in: .none, attempt: job.attempts + 1, attempt)
        }
    }

    /// Measures the download of a file, or of a part of it, with all its attempts.
    ///
    /// - Parameters:
    ///   - byteCount: the size of the file, or of the part.
    ///   - trace: the trace of the first caller that requested it.
    func download(
        _ id: FileID, byteCount: Int64, in trace: TraceContext, _ body: () async throws -> Void
    ) async throws {
        try await instruments.measuring(.download, byteCount: byteCount) {
            try await spans.tracing(.download, of: id, byteCount: byteCount, in: trace, body)
        }
    }

    /// Measures one attempt to delete an object. The body returns the error if the object still exists.
    func delete(_ body: () async -> StorageError?) async -> StorageError? {
        let error = await body()
        instruments.countDeletion(error)
        return error
    }

    /// Counts an upload that has failed and will be retried automatically.
    func noteRetry(after error: StorageError) { instruments.countRetry(error) }

    /// Records that the queue of uploads may have changed.
    func noteQueueChange() { instruments.queueChange.note() }
}

/// A measured operation, with its name in metrics and spans.
enum TelemetryOperation: String, CaseIterable, Sendable {
    case ingest, upload, download, delete
}

/// The outcome of an operation, as a dimension of metrics with few values.
enum TelemetryOutcome: String, CaseIterable, Sendable {
    case success, failure, cancelled
}
