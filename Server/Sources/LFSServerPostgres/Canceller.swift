import CPostgres

/// A handle that cancels the current statement of a connection from any thread.
///
/// `@unchecked Sendable`: libpq allows the use of a `PGcancel` on other threads than its connection, and the handle is
/// immutable.
final class Canceller: @unchecked Sendable {
    private let handle: OpaquePointer?

    init(_ connection: OpaquePointer) { handle = PQgetCancel(connection) }

    deinit { PQfreeCancel(handle) }

    /// Cancels the statement. The call blocks while it connects to the server. If the connection fails, the statement's
    /// own timeout ends it.
    func cancel() {
        var words = [CChar](repeating: 0, count: 256)
        _ = PQcancel(handle, &words, Int32(words.count))
    }
}
