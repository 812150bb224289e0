import GRDB
import LFS
import LFSBackup

/// The removal of documents, and of files that no other document uses. It also removes the records of folders and
/// links.
struct Remover {
    let database: any DatabaseWriter
    let table: DocumentTable
    /// The maximum number of removals per transaction, so that other writers do not wait long.
    private static let batch = 500

    init(_ database: any DatabaseWriter, table: DocumentTable) { (self.database, self.table) = (database, table) }

    /// The result of one removal.
    struct Removed: Sendable {
        let path: FilePath
        let fileID: String
        /// The key of the document, or of the named version or file.
        let documentKey: DatabaseValue
        /// The size of the file. 0 if another document uses it.
        var byteCount: Int64 = 0
        /// The old versions that were removed with it.
        var versions = VersionTable.Removed()
        /// True if it is itself an old version, whose document stays.
        var isVersion = false
    }

    /// - Parameters:
    ///   - onRemoved: receives each removal after its commit.
    ///   - onForgotten: receives the number of removed folders and links after the commit.
    /// - Returns: unknown names, and files that could not be removed, with the reasons.
    func run(
        _ naming: FileNaming, onRemoved: @Sendable (Removed) -> Void, onForgotten: @Sendable (Int) -> Void
    ) async throws -> [FileNaming.Refusal] {
        let named = try await database.read { [table] db in
            try naming.resolveForRemoval(table.all, db)
        }
        let refusals = named.refusals + (try await run(named.files + named.versions, onRemoved: onRemoved))
        try await forget(named.entries, onForgotten: onForgotten)
        return refusals
    }

    /// Removes the records of folders and links.
    func forget(_ entries: Set<FilePath>, onForgotten: @Sendable (Int) -> Void) async throws {
        for batch in Array(entries).chunks(of: Self.batch) {
            onForgotten(try await database.write { db in try EntryTable.remove(batch, db) })
        }
    }

    /// - Parameters:
    ///   - isWanted: called for each file right before its removal.
    ///   - forgets: true if originals at these paths later count as new ones, and not as those of the removed
    ///     documents.
    /// - Returns: the files that could not be removed, with the reasons.
    func run(
        _ files: [NamedFile], where isWanted: (NamedFile) -> Bool = { _ in true }, forgets: Bool = false,
        onRemoved: @Sendable (Removed) -> Void
    ) async throws -> [FileNaming.Refusal] {
        var refusals: [FileNaming.Refusal] = []
        for batch in files.chunks(of: Self.batch) {
            let wanted = batch.filter(isWanted)
            let earlier = try await removeManyVersions(of: wanted, forgets: forgets)
            let results = try await database.write { db in
                let wanted = try wanted.filter { try !forgets || Self.isNotMoved($0, db) }
                let results = try wanted.map { try Self.tryRemoving($0, db) }
                if forgets { for file in wanted { try BackupHistory.forget(AssetName(bytes: file.path.bytes), db) } }
                return results
            }
            for result in results {
                switch result {
                case .success(var removed?):
                    if let versions = earlier[removed.documentKey] { removed.versions = versions + removed.versions }
                    onRemoved(removed)
                case .success(nil): break
                case .failure(let refusal): refusals.append(refusal)
                }
            }
        }
        return refusals
    }

    /// Returns true if the document is not being moved. A moved original is not a missing one, and the move may have
    /// started since the lookup.
    private static func isNotMoved(_ file: NamedFile, _ db: Database) throws -> Bool {
        guard let id = String.fromDatabaseValue(file.key) else { return true }
        return try MovedTable.isDone(id, db) == nil
    }

    /// Removes versions of documents in separate transactions, until less than a batch remains. A document that has
    /// changed in the meantime keeps its remaining versions.
    ///
    /// - Returns: the removed versions by document.
    private func removeManyVersions(
        of files: [NamedFile], forgets: Bool
    ) async throws -> [DatabaseValue: VersionTable.Removed] {
        let files = files.filter { $0.kind == .document }
        var removed: [DatabaseValue: VersionTable.Removed] = [:]
        while try await database.read({ db in try VersionTable.hasMany(of: files.map(\.key), db) }) {
            let batch = try await database.write { db in
                var left = Self.batch
                var batch: [DatabaseValue: VersionTable.Removed] = [:]
                for file in files where left > 0 {
                    guard try !forgets || Self.isNotMoved(file, db), try Self.isRemovable(file, db) else { continue }
                    let versions = try VersionTable.removeAll(of: file.key, atMost: left, db)
                    guard versions.rows > 0 else { continue }
                    left -= versions.rows
                    batch[file.key] = versions
                }
                return batch
            }
            // The remaining versions belong to documents that stay.
            guard !batch.isEmpty else { break }
            removed.merge(batch) { $0 + $1 }
            try Task.checkCancellation()
            await Task.yield()
        }
        return removed
    }

    private static func isRemovable(_ file: NamedFile, _ db: Database) throws -> Bool {
        do { return try requireRemovable(file, db) } catch is UploaderError { return false }
    }

    /// Removes a file. A failure does not affect the other files.
    private static func tryRemoving(
        _ file: NamedFile, _ db: Database
    ) throws -> Result<Removed?, FileNaming.Refusal> {
        var result: Result<Removed?, FileNaming.Refusal> = .success(nil)
        do {
            try db.inSavepoint {
                result = .success(try remove(file, db))
                return .commit
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            result = .failure(.init(name: file.path.exact, reason: error.message ?? "the database refuses it"))
        } catch let error as UploaderError {
            result = .failure(.init(name: file.path.exact, reason: error.description))
        }
        return result
    }

    /// - Returns: nil if another process has removed it first.
    private static func remove(_ file: NamedFile, _ db: Database) throws -> Removed? {
        var removed = Removed(path: file.path, fileID: file.fileID, documentKey: file.key)
        switch file.kind {
        case .version:
            guard let versions = try VersionTable.remove(file.key, db) else { return nil }
            removed.versions = versions
            removed.isVersion = true
            return removed
        case .document:
            guard let versions = try removeDocument(file, db) else { return nil }
            removed.versions = versions
            removed.byteCount = try VersionTable.removeFile(file.fileKey, db) ?? 0
            return removed
        case .file:
            guard let byteCount = try VersionTable.removeFile(file.fileKey, db) else { return nil }
            removed.byteCount = byteCount
            return removed
        }
    }

    /// - Returns: true if the document exists. False if another process has removed it first.
    /// - Throws: ``UploaderError`` if the document has to stay.
    private static func requireRemovable(_ file: NamedFile, _ db: Database) throws -> Bool {
        let row = try Row.fetchOne(
            db, sql: "SELECT fileId FROM uploader_document WHERE id = ?", arguments: [file.key])
        guard let row else { return false }
        guard row[0] == file.fileKey else {
            throw UploaderError("it has changed during this run, and stays: remove it again")
        }
        if let id = String.fromDatabaseValue(file.key) {
            guard try MovedTable.isDone(id, db) != false else {
                throw UploaderError("'push --move' is removing its original; remove it again when that has ended")
            }
        }
        return true
    }

    /// - Returns: the versions that were removed with it. Nil if another process has removed it first.
    private static func removeDocument(_ file: NamedFile, _ db: Database) throws -> VersionTable.Removed? {
        guard try requireRemovable(file, db) else { return nil }
        if let id = String.fromDatabaseValue(file.key) { try MovedTable.remove(id, db) }
        let versions = try VersionTable.removeAll(of: file.key, db)
        try db.execute(sql: "DELETE FROM uploader_document WHERE id = ?", arguments: [file.key])
        return versions
    }
}
