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
    /// A media type such as `image/jpeg`, if one is known.
    public let contentType: String?
    /// The user's name for the file: display data, never part of a path or a key.
    public let name: String?
    package let descriptor: Descriptor

    /// Opens a file that is to be uploaded.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when it is missing, not a regular file or not of the given size.
    public convenience init(
        file: URL, byteCount: Int64, sha256: String, contentType: String? = nil, name: String? = nil
    ) throws(StorageError) {
        let descriptor: Descriptor
        do {
            descriptor = try Descriptor.openForReading(file.path)
        } catch {
            throw StorageError(.sourceChanged, "The file to upload cannot be opened: \(error)", cause: error)
        }
        try self.init(
            descriptor: descriptor, byteCount: byteCount, sha256: sha256, contentType: contentType, name: name)
    }

    package init(
        descriptor: Descriptor, byteCount: Int64, sha256: String, contentType: String?, name: String?
    ) throws(StorageError) {
        self.byteCount = byteCount
        self.sha256 = sha256
        self.contentType = contentType
        self.name = name
        self.descriptor = descriptor
        try requireUnchanged()
    }

    /// Reads at an offset. Returns how many bytes it read; 0 only at the end or for an empty buffer.
    ///
    /// This blocks the thread on the disk.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        do {
            return try descriptor.read(into: buffer, at: offset)
        } catch {
            throw StorageError(.sourceChanged, "The file cannot be read: \(error)", cause: error)
        }
    }

    /// Checks that the file still has the size that was recorded.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged``.
    public func requireUnchanged() throws(StorageError) {
        let status: FileStatus
        do {
            status = try descriptor.status()
        } catch {
            throw StorageError(.sourceChanged, "The file cannot be examined: \(error)", cause: error)
        }
        guard status.isRegularFile, status.byteCount == byteCount else {
            throw StorageError(
                .sourceChanged, "The local file has \(status.byteCount) bytes, but \(byteCount) were recorded.")
        }
    }
}
