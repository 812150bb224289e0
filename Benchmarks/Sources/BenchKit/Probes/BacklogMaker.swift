import GRDB
import LFS

/// A maker of a database with many pending uploads, most of which have no file.
package struct BacklogMaker: Sendable {
    package var rows: Int
    /// The number of the oldest rows that have bytes. The other rows are not due before the end of the measurement.
    package var withBytes: Int
    package var bytesPerFile: Int
    /// The folder of the database.
    package var folder: String

    package init(rows: Int, withBytes: Int, bytesPerFile: Int, folder: String) {
        self.rows = rows
        self.withBytes = withBytes
        self.bytesPerFile = bytesPerFile
        self.folder = folder
    }

    package func run() async throws {
        let host = try HostDatabase(in: folder)
        try await host.attach(withBytes, bytes: bytesPerFile)
        // No manager is open now. It would refuse rows without bytes.
        for start in stride(from: withBytes, to: rows, by: Self.batch) {
            let count = min(Self.batch, rows - start)
            try await host.pool.write { [bytesPerFile] db in try Self.insert(count, bytes: bytesPerFile, db) }
        }
        try await host.pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
    }

    private static let batch = 50_000

    /// Inserts copies of the first row with new ids that sort after all others. The triggers queue them.
    private static func insert(_ count: Int, bytes: Int, _ db: Database) throws {
        try db.execute(
            sql: """
                WITH RECURSIVE number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ?),
                    first AS (SELECT * FROM lfs_file ORDER BY id LIMIT 1),
                    made AS MATERIALIZED (
                        SELECT printf('ffffffff-ffff-7%03x-8%03x-%012x',
                            random() & 4095, random() & 4095, random() & 281474976710655) AS id FROM number)
                INSERT INTO lfs_file (id, status, name, contentType, byteCount, sha256, key, createdAt)
                SELECT made.id, 'local', 'photo.jpg', 'image/jpeg', ?, first.sha256,
                    replace(first.key, first.id, made.id), first.createdAt
                FROM made, first
                """, arguments: [count, bytes])
    }
}
