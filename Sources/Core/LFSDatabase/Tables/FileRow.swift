package import Foundation
package import GRDB
package import LFSSystem

/// A validated row of `lfs_file`: the facts about a file that every device knows.
package struct FileRow: Hashable, Sendable, FetchableRecord {
    /// The evidence from the storage: the checksum of the bytes, or only their number.
    package enum Proof: String, Sendable, DatabaseValueConvertible { case checksum, byteCount }

    /// The location of the bytes: only on the device that created them, or on the storage.
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

    /// - Throws: ``TableError/Code/invalidRow`` for an invalid row that another program has written.
    package init(row: Row) throws {
        let checked = CheckedRow(row, of: FileTable.name)
        id = try checked.value("id")
        status = try checked.value("status")
        url = try (checked.value("url") as String?).map { text in
            // This does the same as GRDB, but avoids the bridge, which takes ten times as long as all other columns.
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

    /// The valid sizes, up to a pebibyte, so that the sum of many fits into 64 bits.
    package static let byteCounts: ClosedRange<Int64> = 0...FileSize.max
    /// The valid dates: from the year 0 to the end of the year 9999, like SQLite's own functions.
    static let dates =
        Date(timeIntervalSince1970: -62_167_219_200)...Date(timeIntervalSince1970: 253_402_300_799)

    /// Returns an SQL condition that is true if a column contains a date: text, or seconds since 1970 up to the end of
    /// the year 9999.
    static func isDate(_ column: String) -> String {
        """
        CASE typeof(\(column)) WHEN 'text' THEN julianday(\(column)) IS NOT NULL WHEN 'blob' THEN 0
            ELSE \(column) BETWEEN -62167219200 AND 253402300799 END
        """
    }
}

/// The row of a file together with its job.
package struct RowState: Hashable, Sendable, FetchableRecord {
    package var file: FileRow
    package var job: JobTable.State?
    /// The time when the upload may start, in milliseconds since 1970. 0 without a job.
    package var notBefore: Int64 = 0
    package var errorCode: String?
    package var errorMessage: String?
    /// True if a reader received wrong bytes, or none, from the object. Then a confirmation by the storage proves
    /// nothing until the right bytes were read from it or uploaded again.
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

    /// The state without the values that each attempt of a queued upload changes. They do not affect the location of
    /// the bytes.
    package var withoutTries: RowState {
        var row = self
        if job == .queued { (row.notBefore, row.errorCode, row.errorMessage) = (0, nil, nil) }
        return row
    }

    /// True if an earlier repair has recorded that the bytes are lost.
    package var isNotedAsLost: Bool { job == .failed && errorCode == JobTable.lostCode }

    /// True if a verification has recorded that the object is missing on the storage.
    package var isNotedAsMissing: Bool {
        job == .failed && (errorCode == JobTable.missingCode || errorCode == JobTable.goneCode)
    }
}

/// The columns of a row that a scan needs, so that a page of them is small.
package struct ScannedRow: FetchableRecord, Sendable {
    package let id: FileID
    package let key: String
    package let isRemote: Bool
    package let byteCount: Int64
    package let sha256: String
    package let job: JobTable.State?
    package let notBefore: Int64
    /// True if a column that a scan does not need contains an invalid value.
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
