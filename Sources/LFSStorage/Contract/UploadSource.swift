public import Foundation
package import LFSSystem

/// The bytes of one upload, whose size and SHA-256 are known before the first byte goes out: an open file, or what a
/// function reads.
///
/// They can be read from several tasks at once, at any offset, and again. A file is opened once; what happens to its
/// name afterwards does not matter.
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
    private let origin: Origin

    /// Reads at an offset into the buffer. Returns how many bytes it has read: 0 only at the end or for an empty one.
    public typealias Read = @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws -> Int

    private enum Origin {
        case file(Descriptor)
        case function(Read)
    }

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

    /// What a function reads: for a storage that changes bytes on their way into another one.
    ///
    /// - Parameters:
    ///   - byteCount: the size in bytes.
    ///   - sha256: of what the function reads, 64 lowercase hex digits.
    ///   - contentType: a media type, if it is to be stored.
    ///   - name: the user's name for the file, if it is to be stored.
    ///   - read: has to read the same bytes each time, from several threads at once, which it may block. What it throws
    ///     ends the upload: a ``StorageError`` as it is, anything else as ``StorageError/Code/sourceUnreadable``.
    public convenience init(
        byteCount: Int64, sha256: String, contentType: String? = nil, name: String? = nil, reading read: @escaping Read
    ) {
        self.init(
            byteCount: byteCount, sha256: sha256, crc64: nil, contentType: contentType, name: name, reading: read)
    }

    package convenience init(
        byteCount: Int64, sha256: String, crc64: String?, contentType: String?, name: String?,
        reading read: @escaping Read
    ) {
        self.init(.function(read), byteCount, sha256: sha256, crc64: crc64, contentType, name)
    }

    package convenience init(
        descriptor: Descriptor, byteCount: Int64, sha256: String, crc64: String? = nil, contentType: String?,
        name: String?
    ) throws(StorageError) {
        self.init(.file(descriptor), byteCount, sha256: sha256, crc64: crc64, contentType, name)
        try requireUnchanged()
    }

    private init(
        _ origin: Origin, _ byteCount: Int64, sha256: String, crc64: String?, _ contentType: String?, _ name: String?
    ) {
        self.origin = origin
        self.byteCount = byteCount
        self.sha256 = sha256
        self.crc64 = crc64
        self.contentType = contentType
        self.name = name
    }

    /// Reads at an offset. Returns how many bytes it read; 0 only at the end or for an empty buffer.
    ///
    /// This blocks the thread on the disk.
    ///
    /// - Throws: ``StorageError/Code/sourceUnreadable``. A storage passes it on as it is, or it would be blamed itself.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        switch origin {
        case .file(let descriptor):
            do throws(SystemError) {
                return try descriptor.read(into: buffer, at: offset)
            } catch {
                throw Self.failure("read", error)
            }
        case .function(let read):
            return try Self.read(into: buffer, at: offset, by: read)
        }
    }

    private static func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, by read: Read
    ) throws(StorageError) -> Int {
        let count: Int
        do {
            count = try read(buffer, offset)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.sourceUnreadable, "What is uploaded cannot be read: \(error)", cause: error)
        }
        guard (0...buffer.count).contains(count) else {
            throw StorageError(
                .sourceUnreadable,
                "What reads the upload's bytes says that it has put \(count) into a buffer of \(buffer.count).")
        }
        return count
    }

    /// Whether it is a file with holes.
    package var isSparse: Bool {
        guard case .file(let descriptor) = origin else { return false }
        return SparseFile.isSparse(descriptor.raw)
    }

    /// Calls `body` with all the bytes in order; with fewer of them where they end too early. Blocks the thread.
    package func forEachChunk(_ flag: CancellationFlag, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try FileCopy.forEachChunk(0..<byteCount, flag, reading: { try read(into: $0, at: $1) }, body)
    }

    /// Checks that a file still has the size that was recorded. Of what a function reads nothing is known before.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged``, or ``StorageError/Code/sourceUnreadable`` when it is no regular
    ///   file.
    public func requireUnchanged() throws(StorageError) {
        guard case .file(let descriptor) = origin else { return }
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
