import Foundation
import LFSSyncServer
import TestSupport

/// Where the cases of this folder keep their rows here: in a file of SQLite. The package of the server runs the same
/// cases on PostgreSQL, with a `TestStore` of its own.
enum TestStore {
    /// - Parameter isQuick: whether nothing has to reach a disk.
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

    /// Runs the body with each number, as many at once as there are processors.
    static func forEach(_ numbers: Range<Int>, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await forEachOnAllProcessors(numbers, body)
    }

    /// Numbers that follow from their seed.
    static func random(_ seed: UInt64) -> any RandomNumberGenerator { SeededGenerator(seed: seed) }
}
