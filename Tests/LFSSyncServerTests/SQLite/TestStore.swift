import Foundation
import LFSSyncServer
import TestSupport

/// Where the cases of this folder keep their rows here: in a file of SQLite. The package of the server runs the same
/// cases on PostgreSQL, with a `TestStore` of its own.
enum TestStore {
    static func run(_ body: (any SQLDatabase) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            try await body(database)
            await database.close()
        }
    }

    /// Numbers that follow from their seed.
    static func random(_ seed: UInt64) -> any RandomNumberGenerator { SeededGenerator(seed: seed) }
}
