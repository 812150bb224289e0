public import Foundation
import LFSDatabase
import LFSFiles
public import LFSSystem

/// A file that a record of the app refers to: a row of the table `lfs_file`.
///
/// ``LFSManager/makeFile(from:name:contentType:onProgress:)`` creates it once the bytes are durable. To attach the
/// file, insert it. The commit queues the upload, and the running manager moves the bytes into the local store. A
/// rollback undoes the insert like any other change.
///
/// The content never changes. For other bytes make another file, and delete this one when no record refers to it.
public struct FileData: Identifiable, Hashable, Codable, Sendable {
    /// The location of the bytes.
    public enum Status: String, Codable, Hashable, Sendable {
        /// The bytes are only on the device that made them.
        case local
        /// The bytes are on the remote storage, with proof. This device may also have them.
        case remote
    }

    /// The strength of the storage's confirmation of the object.
    public enum Proof: String, Codable, Hashable, Sendable {
        /// The storage has computed or checked a checksum of the bytes, or they were read back and compared.
        case checksum
        /// The storage reports only the number of bytes. The last local copy is kept until the object was read back,
        /// unless ``EvictionPolicy/unproven`` says otherwise.
        case byteCount
    }

    /// The id, which is also the name of the bytes on disk and part of the object key.
    public let id: FileID
    /// The status of the row when it was read. Only LFS changes it.
    public internal(set) var status: Status
    /// The URL of the object, without a query. Nil until the file is ``Status/remote``.
    public internal(set) var url: URL?
    /// The confirmation of the storage. Nil until the file is ``Status/remote``, and until this device has asked the
    /// storage.
    public internal(set) var proof: Proof?
    /// The name to show to people. It is never part of a path, so it may be any text.
    public var name: String?
    /// The media type, such as `image/jpeg`.
    public var contentType: String?
    /// The size in bytes.
    public let byteCount: Int64
    /// SHA-256 of the content, 64 lowercase hex digits.
    public let sha256: String
    /// CRC-64/NVME of the content, 16 lowercase hex digits. An upload checks the local bytes with it, because it costs
    /// a tenth of the SHA-256. Nil in a row that was made without it.
    package let crc64: String?
    /// The object key: `<namespace>/<id>`, the same for every device that reads the row.
    public let key: String
    /// The time when the file was made, to the millisecond.
    public let createdAt: Date
    /// A UUID version 7 that changes with every insert and update of the row, and ascends within the database. The
    /// database sets it. Nil until the row is read.
    public internal(set) var updateID: String?

    /// The file that has the bytes, of a record from ``FileSource/original(_:)`` that was not read from the database.
    var original: OriginalFile?

    enum CodingKeys: String, CodingKey {
        case id, status, url, proof, name, contentType, byteCount, sha256, crc64, key, createdAt, updateID
    }
}

extension FileData {
    /// Decodes a record that was encoded before.
    ///
    /// - Throws: `DecodingError.dataCorrupted` when ``byteCount`` is negative or above a pebibyte, and the other errors
    ///   of the decoder.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(FileID.self, forKey: .id)
        status = try values.decode(Status.self, forKey: .status)
        url = try values.decodeIfPresent(URL.self, forKey: .url)
        proof = try values.decodeIfPresent(Proof.self, forKey: .proof)
        name = try values.decodeIfPresent(String.self, forKey: .name)
        contentType = try values.decodeIfPresent(String.self, forKey: .contentType)
        byteCount = try values.decode(Int64.self, forKey: .byteCount)
        sha256 = try values.decode(String.self, forKey: .sha256)
        crc64 = try values.decodeIfPresent(String.self, forKey: .crc64)
        key = try values.decode(String.self, forKey: .key)
        createdAt = try values.decode(Date.self, forKey: .createdAt)
        updateID = try values.decodeIfPresent(String.self, forKey: .updateID)
        guard FileRow.byteCounts.contains(byteCount) else {
            throw DecodingError.dataCorruptedError(
                forKey: .byteCount, in: values, debugDescription: "\(byteCount) is not a valid size of a file.")
        }
    }
}
