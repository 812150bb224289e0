import GRDB
import LFSStorage

/// Whether a storage has the files that a database knows to be on it: an empty mount point looks like any folder, and
/// a bucket of the same name on another server like any bucket.
enum StoragePresence {
    /// Looks for the files that came last and first.
    ///
    /// - Returns: how many were looked for, if not one of them is there; nil when one is, when there is none to look
    ///   for, and when the storage cannot say now.
    static func missing(_ database: any DatabaseReader, _ storage: any RemoteStorage) async throws -> Int? {
        let keys = try await database.read { db in
            try ["DESC", "ASC"].flatMap { order in
                try Row.fetchAll(
                    db, sql: "SELECT key FROM lfs_file WHERE status = 'remote' ORDER BY updateID \(order) LIMIT 2")
            }.compactMap { String.fromDatabaseValue($0[0]) }
        }
        var count = 0
        for key in Set(keys) {
            do {
                _ = try await storage.head(try ObjectKey(key))
                return nil
            } catch let error as StorageError where error.isMissing {
                count += 1
            } catch is StorageError {
                // It is away, or the row is odd: the run says so where it needs it.
                return nil
            }
        }
        return count > 0 ? count : nil
    }

    /// - Throws: ``UploaderError`` when none of the files is there, unless the storage was changed on purpose.
    static func require(
        _ database: any DatabaseReader, _ storage: any RemoteStorage, _ location: StorageLocation, changes: Bool,
        _ report: Report
    ) async throws {
        guard let count = try await missing(database, storage) else { return }
        let finding = "None of the files that should be on \(location) is there; \(count) were looked for."
        if changes {
            return report.message(
                "\(finding) Run 'verify --repair --accept-empty' next: it uploads those whose bytes are here.")
        }
        throw UploaderError(
            """
            \(finding) Is its disk mounted, and is it the right one? Nothing was changed. If they are lost, \
            'verify --repair --accept-empty' uploads those whose bytes are here.
            """)
    }
}
