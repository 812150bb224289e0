package import Foundation
package import GRDB
package import LFSSystem

/// A row of `lfs_file`, checked: what every device knows of a file.
package struct FileRow: Hashable, Sendable, FetchableRecord {
    /// What the storage vouches for: the bytes, or their number alone.
    package enum Proof: String, Sendable, DatabaseValueConvertible { case checksum, byteCount }

    /// Where the bytes are: only on the device that made them, or on the remote storage.
    package enum Status: String, Sendable, DatabaseValueConvertible { case local, remote }

    package var id: FileID
    package var status: Status
    package var url: URL?
    package var proof: Proof?
    package var name: String?
    package var contentType: String?
    package var byteCount: Int64
    package var sha256: String
    package var crc64: String?
    package var key: String
    package var createdAt: Date
    package var updateID: String?

    package init(
        id: FileID, status: Status, url: URL?, proof: Proof?, name: String?, contentType: String?, byteCount: Int64,
        sha256: String, crc64: String? = nil, key: String, createdAt: Date, updateID: String?
    ) {
        self.id = id
        self.status = status
        self.url = url
        self.proof = proof
        self.name = name
        self.contentType = contentType
        self.byteCount = byteCount
        self.sha256 = sha256
        self.crc64 = crc64
        self.key = key
        self.createdAt = createdAt
        self.updateID = updateID
    }

    /// - Throws: ``TableError/Code/invalidRow`` for a row that another program has written and that cannot be right.
    package init(row: Row) throws {
        let checked = CheckedRow(row, of: FileTable.name)
        id = try checked.value("id")
        status = try checked.value("status")
        url = try (checked.value("url") as String?).map { text in
            // As GRDB has it, without the bridge that takes ten times as long as all other columns.
            guard let url = URL(string: text) else { throw checked.invalid("url") }
            return url
        }
        proof = try checked.value("proof")
        name = try checked.value("name")
        contentType = try checked.value("contentType")
        byteCount = try checked.number("byteCount", in: Self.byteCounts)
        sha256 = try checked.value("sha256")
        crc64 = try checked.value("crc64")
        key = try checked.value("key")
        createdAt = try checked.number("createdAt", in: Self.dates)
        updateID = try checked.value("updateID")
    }

    /// Up to a pebibyte, so that sums of many fit into 64 bits.
    package static let byteCounts: ClosedRange<Int64> = 0...(1 << 50)
    /// From the year 0 to the end of the year 9999, as SQLite's own functions have it.
    static let dates =
        Date(timeIntervalSince1970: -62_167_219_200)...Date(timeIntervalSince1970: 253_402_300_799)

    /// Whether a column has a date: a text, or seconds since 1970 up to the end of the year 9999.
    static func isDate(_ column: String) -> String {
        """
        CASE typeof(\(column)) WHEN 'text' THEN julianday(\(column)) IS NOT NULL WHEN 'blob' THEN 0
            ELSE \(column) BETWEEN -62167219200 AND 253402300799 END
        """
    }
}

/// The row of a file with its job.
package struct RowState: Hashable, Sendable, FetchableRecord {
    package var file: FileRow
    package var job: JobTable.State?
    /// Milliseconds since 1970; 0 without a job.
    package var notBefore: Int64 = 0
    package var errorCode: String?
    package var errorMessage: String?
    /// Somebody has read other bytes from its object than the file's, or none: what the storage says of it proves
    /// nothing until right bytes were read from it, or sent again.
    package var isSuspect = false

    package init(row: Row) throws {
        file = try FileRow(row: row)
        let checked = CheckedRow(row, of: JobTable.name)
        job = (try checked.value("jobState") as String?).flatMap(JobTable.State.init(rawValue:))
        notBefore = try checked.value("notBefore") ?? 0
        errorCode = try checked.value("errorCode")
        errorMessage = try checked.value("errorMessage")
        isSuspect = try checked.value("replacesObject") ?? false
    }

    /// Without what each try of a queued upload changes, which says nothing of where the bytes are.
    package var withoutTries: RowState {
        var row = self
        if job == .queued { (row.notBefore, row.errorCode, row.errorMessage) = (0, nil, nil) }
        return row
    }

    /// An earlier repair has noted that the bytes are lost.
    package var isNotedAsLost: Bool { job == .failed && errorCode == JobTable.lostCode }

    /// A verification has noted that the storage does not have the object.
    package var isNotedAsMissing: Bool {
        job == .failed && (errorCode == JobTable.missingCode || errorCode == JobTable.goneCode)
    }
}

/// What a scan needs of a row, so that a page of them is small.
package struct ScannedRow: FetchableRecord, Sendable {
    package let id: FileID
    package let key: String
    package let isRemote: Bool
    package let byteCount: Int64
    package let sha256: String
    package let job: JobTable.State?
    package let notBefore: Int64
    /// Whether a column that a scan does not need looks odd.
    package let isOdd: Bool

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: FileTable.name)
        id = try checked.value("id")
        key = try checked.value("key")
        isRemote = try checked.value("status") == FileRow.Status.remote
        byteCount = try checked.number("byteCount", in: FileRow.byteCounts)
        sha256 = try checked.value("sha256")
        job = (try checked.value("jobState") as String?).flatMap(JobTable.State.init(rawValue:))
        notBefore = try checked.value("notBefore") ?? 0
        isOdd = try checked.value("isOdd")
    }
}
