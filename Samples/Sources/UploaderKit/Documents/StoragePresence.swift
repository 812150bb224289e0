import GRDB
import LFSStorage
import LFSSync

/// Whether a storage has the files that a database knows to be on it: an empty mount point looks like any folder, and
/// a bucket of the same name on another server like any bucket.
enum StoragePresence: Equatable {
    /// One of the files is there, or there is none to look for.
    case found
    /// Not one of so many files is there.
    case missing(Int)
    /// The storage cannot say now.
    case unknown

    /// Looks for the files that came last and first.
    static func look(_ database: any DatabaseReader, _ storage: any RemoteStorage) async throws -> StoragePresence {
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
                return .found
            } catch let error as StorageError where error.isMissing {
                count += 1
            } catch is StorageError {
                // It is away, or the row is odd: the run says so where it needs it.
                return .unknown
            }
        }
        return count > 0 ? .missing(count) : .found
    }

    /// - Parameters:
    ///   - goesOn: whether the run has something to do on a storage that was changed on purpose and has none of
    ///     the files: then it ends with the status of a failure.
    ///   - sync: how the device gets what others have changed, if it does.
    /// - Returns: false where the run goes on without the files, which is told.
    /// - Throws: ``UploaderError`` when none of the files is there.
    static func require(
        _ database: any DatabaseReader, _ storage: any RemoteStorage, _ location: StorageLocation, goesOn: Bool,
        _ sync: SyncClient?, _ report: Report
    ) async throws -> Bool {
        var presence = try await look(database, storage)
        if case .missing = presence, let sync {
            // Other devices may have replaced or removed those, and the rows do not say so yet.
            do { _ = try await sync.synchronize() } catch let error as SyncError {
                report.message("not synced: \(Words.sentence(error))")
            }
            presence = try await look(database, storage)
        }
        guard goesOn, let finding = presence.finding(location) else {
            try presence.require(location)
            return true
        }
        report.failed(
            FilePath(location.description),
            """
            \(finding) It is the storage of this database from now on all the same. Run 'verify --repair \
            --accept-empty' next: it uploads those whose bytes are here.
            """)
        return false
    }

    /// - Throws: ``UploaderError`` when none of the files is there.
    func require(_ location: StorageLocation) throws {
        guard let finding = finding(location) else { return }
        let question = location.isFolder ? "Is its disk mounted, and is it the right one?" : "Is it the right one?"
        throw UploaderError(
            """
            \(finding) \(question) Nothing was changed. If they are lost, \
            'verify --repair --accept-empty' uploads those whose bytes are here.
            """)
    }

    private func finding(_ location: StorageLocation) -> String? {
        guard case .missing(let count) = self else { return nil }
        return "None of the files that should be on \(location.argument) is there; \(count) were looked for."
    }
}
