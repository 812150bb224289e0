public import Foundation
public import LFSSystem

/// A file that a record of the app refers to: a row of the table `lfs_file`.
///
/// ``LFSManager/makeFile(from:name:contentType:onProgress:)`` makes it once the bytes are durable. Inserting it is all
/// that attaching takes: the commit queues the upload, and the running manager moves the bytes into the local store.
/// When the transaction rolls back, nothing has happened.
///
/// The content never changes. For other bytes make another file, and delete this one when nothing refers to it.
public struct FileData: Identifiable, Hashable, Codable, Sendable {
    /// Where the bytes are.
    public enum Status: String, Codable, Hashable, Sendable {
        /// Only on the device that made them.
        case local
        /// On the remote storage, proven; perhaps here as well.
        case remote
    }

    /// What the storage's own word on the object is worth.
    public enum Proof: String, Codable, Hashable, Sendable {
        /// It has computed or checked a checksum of the bytes, or they were read back and compared.
        case checksum
        /// It tells only how many bytes it has. The last local copy stays until the object was read back, unless
        /// ``EvictionPolicy/unproven`` says otherwise.
        case byteCount
    }

    /// It names the bytes on disk and in the object key.
    public let id: FileID
    /// The row's status when it was read. LFS alone changes it.
    public internal(set) var status: Status
    /// Where the object is, without a query; nil until the file is ``Status/remote``.
    public internal(set) var url: URL?
    /// What the storage vouches for; nil until the file is ``Status/remote``, and while nobody here has asked the
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
    /// CRC-64/NVME of the content, 16 lowercase hex digits: what an upload compares the local bytes with, since it
    /// costs a tenth of the SHA-256. Nil in a row that was made without it.
    public let crc64: String?
    /// The object key: `<namespace>/<id>`, the same for every device that reads the row.
    public let key: String
    /// When the file was made, to the millisecond.
    public let createdAt: Date
    /// UUID version 7 that changes with every insert and update of the row and ascends within the database.
    /// Nil until the row is read: the database gives it.
    public internal(set) var updateID: String?

    enum CodingKeys: String, CodingKey {
        case id, status, url, proof, name, contentType, byteCount, sha256, crc64, key, createdAt, updateID
    }
}
