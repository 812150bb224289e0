package import GRDB

extension BackgroundRunner {
    /// Reads one page after the other, each in its own transaction, until no page is left or the closure returns false.
    ///
    /// Some values do not read as they are stored, for example text with a NUL. A row with such a value ends the call
    /// with an error, because the next page would start with it again.
    /// - Parameters:
    ///   - page: reads the rows after a value of the column that orders them.
    ///   - body: receives each page. Returns false to stop.
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
                    message: """
                        The rows after \(next) cannot be read in order: another program has written an invalid id. \
                        Delete that row.
                        """
                )
            }
            last = next
            if try await !body(page.elements) { return }
        }
    }
}
