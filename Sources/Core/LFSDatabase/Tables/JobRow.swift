package import Foundation
package import GRDB
package import LFSSystem

/// A row of `lfs_job`, with the columns of its `lfs_file` that an upload needs.
package struct JobRow: FetchableRecord, Sendable {
    package let id: FileID
    package let key: String
    package let byteCount: Int64
    package let sha256: String
    package let crc64: String?
    package let contentType: String?
    package let name: String?
    /// The original, if the file was attached without a copy and the row of the original is readable.
    package let original: OriginalRow?
    package let attempts: Int
    package let checkpoint: Data?
    package let errorCode: String?
    package let sentBytes: Int64
    /// Milliseconds since 1970.
    package let sentSince: Int64
    package let replacesObject: Bool
    /// The time when the upload may start, in milliseconds since 1970. It changes whenever the job is queued. So it
    /// shows whether an outcome belongs to the job in its current state.
    package let notBefore: Int64

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: FileTable.name, name: "fileID")
        id = try checked.value("fileID")
        key = try checked.value("key")
        byteCount = try checked.number("byteCount", in: FileRow.byteCounts)
        sha256 = try checked.value("sha256")
        crc64 = try checked.value("crc64")
        contentType = try checked.value("contentType")
        name = try checked.value("name")
        original = OriginalTable.joinedRow(row)
        attempts = try checked.number("attempts", in: 0...Self.mostAttempts)
        checkpoint = try checked.value("checkpoint")
        errorCode = try checked.value("errorCode")
        sentBytes = try checked.number("sentBytes", in: 0...Self.mostSentBytes)
        sentSince = try checked.value("sentSince")
        replacesObject = try checked.value("replacesObject")
        notBefore = try checked.value("notBefore")
    }

    /// A limit above the bytes that a network transfers in a day.
    private static let mostSentBytes: Int64 = 1 << 60
    /// A limit above the attempts of any file.
    private static let mostAttempts = 1_000_000_000
}

/// A job whose upload was given up.
package struct JobFailure: FetchableRecord, Sendable {
    package let id: FileID
    package let code: String
    package let message: String

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: JobTable.name, name: "fileID")
        id = try checked.value("fileID")
        code = try checked.value("errorCode") ?? "unknown"
        message = try checked.value("errorMessage") ?? ""
    }
}
