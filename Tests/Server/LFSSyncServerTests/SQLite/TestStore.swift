import Foundation
import LFSSyncServer
import TestSupport

/// The store of the cases in this folder, which is a SQLite file in this package. The server's package runs the same
/// cases on PostgreSQL with its own `TestStore`.
enum TestStore {
    /// Runs a body with a new database.
    ///
    /// - Parameter isQuick: true if the database may stay in memory.
    static func run(isQuick: Bool = false, _ body: (any SQLDatabase) async throws -> Void) async throws {
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let isThere = FileManager.default.isWritableFile(atPath: memory.path)
        let parent = isQuick && isThere ? memory : FileManager.default.temporaryDirectory
        try await withTemporaryFolder(in: parent) { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            try await body(database)
            await database.close()
        }
    }

    /// Runs the body with each number on all processors.
    static func forEach(_ numbers: Range<Int>, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await forEachOnAllProcessors(numbers, body)
    }

    /// Returns a random generator with a seed.
    static func random(_ seed: UInt64) -> any RandomNumberGenerator { SeededGenerator(seed: seed) }
}
