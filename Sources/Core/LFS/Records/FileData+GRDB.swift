import Foundation
public import GRDB
package import LFSDatabase
import LFSSystem

extension FileData: FetchableRecord, PersistableRecord {
    /// The table of the files.
    public static let databaseTableName = FileTable.name

    /// The columns of `lfs_file`.
    public enum Columns {
        /// The column of ``FileData/id``.
        public static let id = Column(CodingKeys.id)
        /// The column of ``FileData/status``.
        public static let status = Column(CodingKeys.status)
        /// The column of ``FileData/url``.
        public static let url = Column(CodingKeys.url)
        /// The column of ``FileData/proof``.
        package static let proof = Column(CodingKeys.proof)
        /// The column of ``FileData/name``.
        public static let name = Column(CodingKeys.name)
        /// The column of ``FileData/contentType``.
        public static let contentType = Column(CodingKeys.contentType)
        /// The column of ``FileData/byteCount``.
        public static let byteCount = Column(CodingKeys.byteCount)
        /// The column of ``FileData/sha256``.
        public static let sha256 = Column(CodingKeys.sha256)
        /// The column of ``FileData/crc64``.
        package static let crc64 = Column(CodingKeys.crc64)
        /// The column of ``FileData/key``.
        package static let key = Column(CodingKeys.key)
        /// The column of ``FileData/createdAt``.
        public static let createdAt = Column(CodingKeys.createdAt)
        /// The column of ``FileData/updateID``.
        public static let updateID = Column(CodingKeys.updateID)
    }

    /// Reads a row of `lfs_file`.
    ///
    /// - Throws: ``LFSError/Code/invalidRow`` when another program has written invalid values into the row. A cursor
    ///   can continue with the next row. `fetchAll` fails.
    public init(row: Row) throws {
        do {
            self.init(try FileRow(row: row))
        } catch {
            throw LFSError.wrapping(error)
        }
    }

    /// Encodes every column except `updateID`, which the database sets, and `proof`, which only the storage can
    /// confirm.
    public func encode(to container: inout PersistenceContainer) {
        container[Columns.id] = id
        container[Columns.status] = status
        container[Columns.url] = url?.absoluteString
        container[Columns.name] = name
        container[Columns.contentType] = contentType
        container[Columns.byteCount] = byteCount
        container[Columns.sha256] = sha256
        container[Columns.crc64] = crc64
        container[Columns.key] = key
        container[Columns.createdAt] = createdAt
    }

    /// Converts the errors of the LFS triggers into ``LFSError``.
    ///
    /// - Throws: ``LFSError/Code/bytesMissing`` when the bytes are not on this device, ``LFSError/Code/deleted``
    ///   while the bytes of a deleted file with the id are being removed, and the errors of GRDB.
    public func aroundInsert(_ db: Database, insert: () throws -> InsertionSuccess) throws {
        try inserting(db) { _ = try insert() }
    }

    /// Does the same as `insert(_:)`, but faster. See ``FileTable/insert(_:_:)``.
    package func insertRow(_ db: Database) throws {
        try inserting(db) { try FileTable.insert([row], db) }
    }

    /// Inserts many files in a few statements.
    ///
    /// - Throws: the error of the first file that cannot be inserted, as `insert(_:)` does. The files before it stay.
    package static func insertRows(_ files: [FileData], _ db: Database) throws {
        do {
            try db.inSavepoint {
                for file in files {
                    guard let original = file.original else { continue }
                    try OriginalTable.save(OriginalRow(file.id, original: original), db)
                }
                try FileTable.insert(files.map(\.row), db)
                return .commit
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            for file in files { try file.insertRow(db) }
        }
    }

    private func inserting(_ db: Database, _ insert: () throws -> Void) throws {
        do {
            if let original { try OriginalTable.save(OriginalRow(id, original: original), db) }
            try insert()
        } catch let error as DatabaseError {
            // The app may continue the transaction without this row.
            if original != nil { try OriginalTable.remove(id, db) }
            throw LFSError(refusalOf: id, error) ?? error
        }
    }
}

extension FileData.Status: DatabaseValueConvertible {}
extension FileData.Proof: DatabaseValueConvertible {}

extension DerivableRequest where RowDecoder == FileData {
    /// The files whose bytes are only on the device that made them.
    public func pending() -> Self { filter(FileData.Columns.status == FileData.Status.local) }

    /// The files that are on the remote storage.
    public func offloaded() -> Self { filter(FileData.Columns.status == FileData.Status.remote) }
}

extension DatabaseMigrator {
    /// Registers the tables, indexes and triggers of LFS, whose names all begin with `lfs_`.
    ///
    /// Call it where the app registers its own migrations, before those that refer to `lfs_file`. Migrate before
    /// ``LFSManager/open(_:options:)``. Later versions of LFS add migrations after the existing ones.
    public mutating func registerLFSMigrations() { Schema.register(in: &self) }
}

extension FileData {
    package init(_ row: FileRow) {
        id = row.id
        status = row.status == .remote ? .remote : .local
        url = row.url
        proof = row.proof.map { $0 == .checksum ? .checksum : .byteCount }
        name = row.name
        contentType = row.contentType
        byteCount = row.byteCount
        sha256 = row.sha256
        crc64 = row.crc64
        key = row.key
        createdAt = row.createdAt
        updateID = row.updateID
    }

    var row: FileRow {
        FileRow(
            id: id, status: status == .remote ? .remote : .local, url: url,
            proof: proof.map { $0 == .checksum ? .checksum : .byteCount }, name: name, contentType: contentType,
            byteCount: byteCount, sha256: sha256, crc64: crc64, key: key, createdAt: createdAt, updateID: updateID)
    }
}
