#if Metrics || Tracing
import LFSStorage

/// The code of an error in metrics and spans. Metrics use only the codes of ``known(of:)`` and ``other``, so their
/// number is bounded whatever errors a storage of another package throws.
struct FailureCode: Hashable, Sendable {
    let name: String

    static let cancelled = FailureCode(name: StorageError.Code.cancelled.rawValue)
    static let other = FailureCode(name: "other")

    init(name: String) { self.name = name }

    /// Creates the code of an error. The error of a cancelled task counts as its cancellation, whatever failed first.
    init(_ error: any Error) {
        self.init(name: Task.isCancelled ? Self.cancelled.name : Self.name(of: error))
    }

    private static func name(of error: any Error) -> String {
        switch LFSError.wrapping(error) {
        // Thrown after a stop and during a suspension.
        case let error as LFSError where [.notRunning, .suspended].contains(error.code): cancelled.name
        case let error as LFSError: (error.cause as? StorageError)?.code.rawValue ?? error.code.rawValue
        default: StorageError.Code.unknown.rawValue
        }
    }

    /// Returns the code, or ``other`` if it is not one of the known codes of an operation.
    func known(of operation: TelemetryOperation) -> FailureCode {
        Self.known(of: operation).contains(self) ? self : .other
    }

    static func known(of operation: TelemetryOperation) -> Set<FailureCode> {
        switch operation {
        case .ingest: local
        case .upload, .delete: remote
        case .download: local.union(remote)
        }
    }

    private static let local = Set(
        [
            LFSError.Code.noSpace, .permissionDenied, .readOnly, .missing, .folderAbsent, .notAFile, .sourceChanged,
            .sourceFailed, .system, .unknownFile, .database,
        ].map { FailureCode(name: $0.rawValue) })

    private static let remote = Set(
        [
            StorageError.Code.missing, .unreachable, .timeout, .throttled, .serverError, .integrity, .unauthorized,
            .forbidden, .misconfigured, .noSpace, .tooLarge, .sourceAbsent, .sourceChanged, .sourceUnreadable,
            .sourceLocked, .databaseFailed, .changed, .rangeRefused, .archived, .invalidKey, .invalidRequest, .unknown,
        ].map { FailureCode(name: $0.rawValue) })
}
#endif
