package import GRDB

extension BackgroundRunner {
    /// Reads one page after the other, each in a transaction of its own, until there is none or the closure has seen
    /// enough.
    ///
    /// A row whose value reads otherwise than it is stored, as text with a NUL in it does, ends it with an error: a
    /// page behind it would begin with it again.
    /// - Parameters:
    ///   - page: reads the rows that come after a value of the column that orders them.
    ///   - body: takes each page; false ends it.
    package func forEachPage<Element>(
        _ page: @escaping @Sendable (Database, _ after: DatabaseValue) throws -> RowPage<Element>,
        _ body: ([Element]) async throws -> Bool
    ) async throws {
        var last = "".databaseValue
        while true {
            let after = last
            let page = try await read { db in try page(db, after) }
            guard let next = page.last else { return }
            guard next != last else {
                throw TableError(
                    .invalidRow,
                    """
                    The rows behind \(next) cannot be read in order: another program has written an id that is none. \
                    Delete it.
                    """
                )
            }
            last = next
            if try await !body(page.elements) { return }
        }
    }
}
