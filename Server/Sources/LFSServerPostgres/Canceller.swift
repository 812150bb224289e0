import CPostgres

/// Ends the statement that a connection runs, from any thread.
///
/// `@unchecked Sendable`: libpq says that a `PGcancel` may be used on other threads than its connection, and nothing
/// changes it.
final class Canceller: @unchecked Sendable {
    private let handle: OpaquePointer?

    init(_ connection: OpaquePointer) { handle = PQgetCancel(connection) }

    deinit { PQfreeCancel(handle) }

    /// Blocks while it connects to the server. Where that fails the statement's own timeout ends it.
    func cancel() {
        var words = [CChar](repeating: 0, count: 256)
        _ = PQcancel(handle, &words, Int32(words.count))
    }
}
