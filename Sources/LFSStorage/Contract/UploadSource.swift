public import Foundation
package import LFSSystem

/// The bytes of one upload: an open file whose size and SHA-256 are known before the first byte goes out.
///
/// It can be read from several tasks at once, at any offset. The file is opened once; what happens to its name
/// afterwards does not matter.
public final class UploadSource: Sendable {
    /// The size in bytes.
    public let byteCount: Int64
    /// SHA-256 of the whole content, 64 lowercase hex digits.
    public let sha256: String
    /// CRC-64/NVME of the whole content, 16 lowercase hex digits, if it is known.
    package let crc64: String?
    /// A media type such as `image/jpeg`, if one is known.
    public let contentType: String?
    /// The user's name for the file: display data, never part of a path or a key.
    public let name: String?
    package let descriptor: Descriptor

    /// Opens a file that is to be uploaded.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when it is missing or not of the given size;
    ///   ``StorageError/Code/sourceUnreadable`` when it cannot be opened or is not a regular file.
    public convenience init(
        file: URL, byteCount: Int64, sha256: String, contentType: String? = nil, name: String? = nil
    ) throws(StorageError) {
        let descriptor: Descriptor
        do {
            descriptor = try Descriptor.openForReading(file.path)
        } catch {
            throw Self.failure("opened", error)
        }
        try self.init(
            descriptor: descriptor, byteCount: byteCount, sha256: sha256, contentType: contentType, name: name)
    }

    package init(
        descriptor: Descriptor, byteCount: Int64, sha256: String, crc64: String? = nil, contentType: String?,
        name: String?
    ) throws(StorageError) {
        self.byteCount = byteCount
        self.sha256 = sha256
        self.crc64 = crc64
        self.contentType = contentType
        self.name = name
        self.descriptor = descriptor
        try requireUnchanged()
    }

    /// Reads at an offset. Returns how many bytes it read; 0 only at the end or for an empty buffer.
    ///
    /// This blocks the thread on the disk.
    ///
    /// - Throws: ``StorageError/Code/sourceUnreadable``. A storage passes it on as it is, or it would be blamed itself.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        do {
            return try descriptor.read(into: buffer, at: offset)
        } catch {
            throw Self.failure("read", error)
        }
    }

    /// Checks that the file still has the size that was recorded.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged``, or ``StorageError/Code/sourceUnreadable`` when it is no regular
    ///   file.
    public func requireUnchanged() throws(StorageError) {
        let status: FileStatus
        do {
            status = try descriptor.status()
        } catch {
            throw Self.failure("examined", error)
        }
        guard status.isRegularFile else {
            throw StorageError(
                .sourceUnreadable,
                "\(descriptor.path) is not a regular file: something else stands in the place of the local file.")
        }
        guard status.byteCount == byteCount else {
            throw StorageError(
                .sourceChanged, "The local file has \(status.byteCount) bytes, but \(byteCount) were recorded.")
        }
    }

    /// What the system's errors about the local file mean.
    package static func failure(_ participle: String, _ error: SystemError) -> StorageError {
        if error.isMissing {
            return StorageError(.sourceChanged, "The local file cannot be \(participle): \(error)", cause: error)
        }
        return StorageError(
            .sourceUnreadable,
            "The local file cannot be \(participle): \(error). Look at the disk and the folder's permissions.",
            cause: error)
    }
}
