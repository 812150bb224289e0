import GRDB
import LFSStorage
import LFSSync

/// The result of a check for expected files on a storage. An empty mount point looks like any folder, and a bucket of
/// the same name on another server looks like any bucket.
enum StoragePresence: Equatable {
    /// At least one of the files exists, or no files are expected.
    case found
    /// None of this number of files exists.
    case missing(Int)
    /// The storage cannot answer at the moment.
    case unknown

    /// Looks for the newest and the oldest files.
    static func look(_ database: any DatabaseReader, storage: any RemoteStorage) async throws -> StoragePresence {
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
                // The storage is unreachable, or the row is invalid. The run reports this when it needs the file.
                return .unknown
            }
        }
        return count > 0 ? .missing(count) : .found
    }

    /// - Parameters:
    ///   - goesOn: true if the run can continue on a storage that was changed on purpose and has none of the files. It
    ///     then exits with the status of a failure.
    ///   - sync: the client that receives changes of other devices, if there is one.
    /// - Returns: false if the run continues without the files. This is reported.
    /// - Throws: ``UploaderError`` if none of the files exists.
    static func require(
        _ database: any DatabaseReader, storage: any RemoteStorage, location: StorageLocation, goesOn: Bool,
        sync: SyncClient?, report: Report
    ) async throws -> Bool {
        var presence = try await look(database, storage: storage)
        if case .missing = presence, let sync {
            // Other devices may have replaced or removed these files, which the rows do not show yet.
            do { _ = try await sync.synchronize() } catch let error as SyncError {
                report.message("not synced: \(ErrorMessages.sentence(error))")
            }
            presence = try await look(database, storage: storage)
        }
        guard goesOn, let finding = presence.finding(location) else {
            try presence.require(location)
            return true
        }
        report.failed(
            FilePath(location.description),
            reason: """
                \(finding) It is the storage of this database from now on anyway. Run 'verify --repair --accept-empty' \
                next: it uploads those whose bytes are on this device.
                """)
        return false
    }

    /// - Throws: ``UploaderError`` if none of the files exists.
    func require(_ location: StorageLocation) throws {
        guard let finding = finding(location) else { return }
        let question = location.isFolder ? "Is its disk mounted, and is it the right one?" : "Is it the right one?"
        throw UploaderError(
            """
            \(finding) \(question) Nothing was changed. If they are lost, \
            'verify --repair --accept-empty' uploads those whose bytes are on this device.
            """)
    }

    private func finding(_ location: StorageLocation) -> String? {
        guard case .missing(let count) = self else { return nil }
        return count == 1
            ? "The file that was looked for is not on \(location.argument)."
            : "None of the \(count) files that were looked for is on \(location.argument)."
    }
}
