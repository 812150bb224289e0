import Foundation
public import GRDB

extension FileData: FetchableRecord, PersistableRecord {
    /// The table of the files.
    public static let databaseTableName = "lfs_file"

    /// The columns of `lfs_file`.
    public enum Columns {
        /// The column of ``FileData/id``.
        public static let id = Column(CodingKeys.id)
        /// The column of ``FileData/status``.
        public static let status = Column(CodingKeys.status)
        /// The column of ``FileData/url``.
        public static let url = Column(CodingKeys.url)
        /// The column of ``FileData/proof``.
        public static let proof = Column(CodingKeys.proof)
        /// The column of ``FileData/name``.
        public static let name = Column(CodingKeys.name)
        /// The column of ``FileData/contentType``.
        public static let contentType = Column(CodingKeys.contentType)
        /// The column of ``FileData/byteCount``.
        public static let byteCount = Column(CodingKeys.byteCount)
        /// The column of ``FileData/sha256``.
        public static let sha256 = Column(CodingKeys.sha256)
        /// The column of ``FileData/key``.
        public static let key = Column(CodingKeys.key)
        /// The column of ``FileData/createdAt``.
        public static let createdAt = Column(CodingKeys.createdAt)
        /// The column of ``FileData/updateID``.
        public static let updateID = Column(CodingKeys.updateID)
    }

    /// Reads a row of `lfs_file`.
    ///
    /// - Throws: ``LFSError/Code/invalidRow`` for one that another program has written and that cannot be right. A cursor
    ///   goes on with the next row after it; `fetchAll` ends with it.
    public init(row: Row) throws {
        let checked = CheckedRow(row: row, table: Self.databaseTableName)
        id = try checked.value("id")
        status = try checked.value("status")
        url = try checked.value("url")
        proof = try checked.value("proof")
        name = try checked.value("name")
        contentType = try checked.value("contentType")
        byteCount = try checked.number("byteCount", in: 0...Self.largestByteCount)
        sha256 = try checked.value("sha256")
        key = try checked.value("key")
        createdAt = try checked.number("createdAt", in: Self.earliestDate...Self.latestDate)
        updateID = try checked.value("updateID")
    }

    /// Writes every column but `updateID`, which the database gives, and `proof`, which only the storage can give.
    public func encode(to container: inout PersistenceContainer) {
        container[Columns.id] = id
        container[Columns.status] = status
        container[Columns.url] = url?.absoluteString
        container[Columns.name] = name
        container[Columns.contentType] = contentType
        container[Columns.byteCount] = byteCount
        container[Columns.sha256] = sha256
        container[Columns.key] = key
        container[Columns.createdAt] = createdAt
    }

    /// Turns the refusals of the LFS triggers into ``LFSError``.
    public func aroundInsert(_ db: Database, insert: () throws -> InsertionSuccess) throws {
        do {
            _ = try insert()
        } catch let error as DatabaseError {
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
