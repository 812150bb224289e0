import Crypto
public import Foundation
public import LFS

/// A picture of somebody's, which albums show: once for each owner, however many records and albums have it.
public struct Asset: Hashable, Sendable, Identifiable {
    /// What it is stored under. Made of the owner and the file, if nobody says otherwise: two devices that make an
    /// asset of one file make the same one.
    public var id: UUID
    /// What a server calls it; no two assets have the same. Nil until one does.
    public var remoteID: String?
    /// What a photo library of this device calls it; no two of one owner have the same. Nil if none does.
    public var localID: String?
    /// Whose it is: any text that an app knows people by.
    public var ownerID: String
    /// SHA-256 of its bytes, 64 lowercase hex digits: no two of one owner have the same.
    public let checksum: String
    /// When it was made, to the millisecond.
    public var createdAt: Date
    /// Its bytes.
    public let fileID: FileData.ID

    /// An asset with the bytes of a file, its time rounded to the millisecond.
    public init(
        id: UUID? = nil, remoteID: String? = nil, localID: String? = nil, ownerID: String, file: FileData,
        createdAt: Date
    ) {
        self.init(
            id: id ?? Self.id(of: file.id, ownerID), remoteID: remoteID, localID: localID, ownerID: ownerID,
            checksum: file.sha256,
            createdAt: createdAt.wholeMilliseconds, fileID: file.id)
    }

    init(
        id: UUID, remoteID: String?, localID: String?, ownerID: String, checksum: String, createdAt: Date,
        fileID: FileData.ID
    ) {
        self.id = id
        self.remoteID = remoteID
        self.localID = localID
        self.ownerID = ownerID
        self.checksum = checksum
        self.createdAt = createdAt
        self.fileID = fileID
    }

    /// A UUID of version 8 (RFC 9562, section 5.8).
    private static func id(of file: FileData.ID, _ owner: String) -> UUID {
        var bytes = Array(SHA256.hash(data: Data("\(file) \(owner)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
