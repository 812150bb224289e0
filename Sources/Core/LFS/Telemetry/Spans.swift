import LFSSystem

#if Tracing
import Tracing

/// The trace that an operation is part of.
struct TraceContext: Sendable {
    fileprivate let context: InstrumentationContext

    /// The trace of the caller's task.
    static var current: TraceContext { TraceContext(context: .current ?? .topLevel) }
    /// A new trace.
    static var none: TraceContext { TraceContext(context: .topLevel) }
}

/// The spans of operations: `lfs.ingest`, `lfs.upload`, `lfs.download`.
///
/// They identify a file by its id, never by its name. They contain only the code of an error, because its message may
/// contain a path. The log has the message.
struct Spans: Sendable {
    /// The description of an error in a span.
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let storage: String

    /// - Parameters:
    ///   - id: the id of the file, or of the first of them.
    ///   - count: the number of files.
    ///   - byteCount: the size of the file, if it is known before.
    ///   - attempt: the number of the attempt, from 1 on.
    ///   - resulting: returns the size if it is only known afterwards.
    func tracing<Result>(
        _ operation: TelemetryOperation, of id: FileID, count: Int = 1, byteCount: Int64? = nil,
        in trace: TraceContext, attempt: Int? = nil, _ body: () async throws -> Result,
        resulting: (Result) -> Int64? = { _ in nil }
    ) async throws -> Result {
        let span = startSpan(
            "lfs.\(operation.rawValue)", context: trace.context, ofKind: operation == .ingest ? .internal : .client)
        defer { span.end() }
        span.updateAttributes { attributes in
            attributes["lfs.file.id"] = id.text
            if count > 1 { attributes["lfs.file.count"] = count }
            if operation != .ingest { attributes["lfs.storage"] = storage }
            if let byteCount { attributes["lfs.byte_count"] = byteCount }
            if let attempt { attributes["lfs.attempt"] = attempt }
        }
        do {
            let result = try await InstrumentationContext.$current.withValue(span.context) { try await body() }
            if let byteCount = resulting(result) { span.attributes["lfs.byte_count"] = byteCount }
            return result
        } catch {
            let code = FailureCode(error).name
            span.attributes["error.type"] = code
            span.recordError(Failure(description: code))
            span.setStatus(SpanStatus(code: .error, message: code))
            throw error
        }
    }
}
#else
/// An empty context, because the package's trait `Tracing` is off.
struct TraceContext: Sendable {
    static var current: TraceContext { TraceContext() }
    static var none: TraceContext { TraceContext() }
}

/// Spans that trace nothing, because the package's trait `Tracing` is off.
struct Spans: Sendable {
    init(storage: String) {}

    func tracing<Result>(
        _ operation: TelemetryOperation, of id: FileID, count: Int = 1, byteCount: Int64? = nil,
        in trace: TraceContext, attempt: Int? = nil, _ body: () async throws -> Result,
        resulting: (Result) -> Int64? = { _ in nil }
    ) async throws -> Result {
        try await body()
    }
}
#endif
