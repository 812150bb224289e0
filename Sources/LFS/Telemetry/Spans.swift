import LFSSystem

#if Tracing
import Tracing

/// The trace that something is part of.
struct TraceContext: Sendable {
    fileprivate let context: InstrumentationContext

    /// That of the caller's task.
    static var current: TraceContext { TraceContext(context: .current ?? .topLevel) }
    /// One of its own.
    static var none: TraceContext { TraceContext(context: .topLevel) }
}

/// A span for each operation: `lfs.ingest`, `lfs.upload`, `lfs.download`.
///
/// They say which file it was by its id and never by its name, and of an error its code alone: its message may have a
/// path. It is in the log.
struct Spans: Sendable {
    /// What a span says of an error.
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let storage: String

    /// - Parameters:
    ///   - id: of the file, or of the first of them.
    ///   - count: how many files it is about.
    ///   - byteCount: of the file, if it is known before.
    ///   - attempt: which try it is, from 1 on.
    ///   - resulting: the byte count that is known only afterwards.
    func tracing<Result>(
        _ operation: TelemetryOperation, of id: FileID, count: Int = 1, _ byteCount: Int64? = nil,
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
/// No trace: the package's trait `Tracing` is off.
struct TraceContext: Sendable {
    static var current: TraceContext { TraceContext() }
    static var none: TraceContext { TraceContext() }
}

/// Traces nothing: the package's trait `Tracing` is off.
struct Spans: Sendable {
    init(storage: String) {}

    func tracing<Result>(
        _ operation: TelemetryOperation, of id: FileID, count: Int = 1, _ byteCount: Int64? = nil,
        in trace: TraceContext, attempt: Int? = nil, _ body: () async throws -> Result,
        resulting: (Result) -> Int64? = { _ in nil }
    ) async throws -> Result {
        try await body()
    }
}
#endif
