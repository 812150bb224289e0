public import Foundation
package import LFSSystem

/// The bytes of an upload: an open file, or the output of a function. Their size and SHA-256 are known before the
/// upload starts.
///
/// They can be read repeatedly, at any offset and by several tasks at once. A file is opened once, so later changes to
/// its name have no effect.
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

    /// Reads at an offset into the buffer. Returns the number of bytes read, which is 0 only at the end or for an empty
    /// buffer.
    public typealias Read = @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws -> Int

    private enum Origin {
        case file(Descriptor)
        case function(Read)
    }

    /// Opens a file for upload.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` if the file is missing or does not have the given size,
    ///   ``StorageError/Code/sourceUnreadable`` if it cannot be opened or is not a regular file.
    public convenience init(
        file: URL, byteCount: Int64, sha256: String, contentType: String? = nil, name: String? = nil
    ) throws(StorageError) {
        let descriptor: Descriptor
        do {
            descriptor = try Descriptor.openForReading(file.path)
        } catch {
            throw Self.failure("opened", error: error)
        }
        try self.init(
            descriptor: descriptor, byteCount: byteCount, sha256: sha256, contentType: contentType, name: name)
    }

    /// Creates a source whose bytes a function returns. A storage that transforms bytes on their way to another storage
    /// needs it.
    ///
    /// - Parameters:
    ///   - byteCount: the size in bytes.
    ///   - sha256: SHA-256 of the function's output, 64 lowercase hex digits.
    ///   - contentType: a media type, if it is to be stored.
    ///   - name: the user's name for the file, if it is to be stored.
    ///   - read: returns the same bytes each time. It is called from several threads at once and may block them. Its
    ///     error ends the upload: a ``StorageError`` is rethrown unchanged, any other error becomes
    ///     ``StorageError/Code/sourceUnreadable``.
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
        self.init(
            .function(read), byteCount: byteCount, sha256: sha256, crc64: crc64, contentType: contentType, name: name)
    }

    package convenience init(
        descriptor: Descriptor, byteCount: Int64, sha256: String, crc64: String? = nil, contentType: String?,
        name: String?
    ) throws(StorageError) {
        self.init(
            .file(descriptor), byteCount: byteCount, sha256: sha256, crc64: crc64, contentType: contentType, name: name)
        try requireUnchanged()
    }

    private init(
        _ origin: Origin, byteCount: Int64, sha256: String, crc64: String?, contentType: String?, name: String?
    ) {
        self.origin = origin
        self.byteCount = byteCount
        self.sha256 = sha256
        self.crc64 = crc64
        self.contentType = contentType
        self.name = name
    }

    /// Reads at an offset. Returns the number of bytes read, which is 0 only at the end or for an empty buffer.
    ///
    /// Blocks the thread on the disk.
    ///
    /// - Throws: ``StorageError/Code/sourceUnreadable``. A storage must rethrow it unchanged, so that the failure is
    ///   not attributed to the storage.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        switch origin {
        case .file(let descriptor):
            do throws(SystemError) {
                return try descriptor.read(into: buffer, at: offset)
            } catch {
                throw Self.failure("read", error: error)
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
            throw StorageError(
                .sourceUnreadable, message: "The bytes of the upload cannot be read: \(error)", cause: error)
        }
        guard (0...buffer.count).contains(count) else {
            throw StorageError(
                .sourceUnreadable,
                message: "The function that reads the upload's bytes reported \(count) for a buffer of \(buffer.count)."
            )
        }
        return count
    }

    /// True if the source is a file with holes.
    package var isSparse: Bool {
        guard case .file(let descriptor) = origin else { return false }
        return SparseFile.isSparse(descriptor.raw)
    }

    /// Calls `body` with each chunk of the bytes, in order. Returns early, without an error, if the source ends early.
    /// Blocks the thread.
    package func forEachChunk(_ flag: CancellationFlag, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try FileCopy.forEachChunk(0..<byteCount, flag: flag, reading: { try read(into: $0, at: $1) }, body)
    }

    /// Checks that a file still has the recorded size. Does nothing for a function, whose output is not known in
    /// advance.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged``, or ``StorageError/Code/sourceUnreadable`` if it is not a regular
    ///   file.
    public func requireUnchanged() throws(StorageError) {
        guard case .file(let descriptor) = origin else { return }
        let status: FileStatus
        do {
            status = try descriptor.status()
        } catch {
            throw Self.failure("examined", error: error)
        }
        guard status.isRegularFile else {
            throw StorageError(
                .sourceUnreadable,
                message:
                    "\(descriptor.path) is not a regular file: another program has replaced the local file.")
        }
        guard status.byteCount == byteCount else {
            throw StorageError(
                .sourceChanged, message: "The local file has \(status.byteCount) bytes, but \(byteCount) were recorded."
            )
        }
    }

    /// True if this system refuses to read protected files while the device is locked.
    #if os(iOS)
    package static let systemLocksFiles = true
    #else
    package static let systemLocksFiles = false
    #endif

    /// Converts a system error of the local file to a storage error.
    ///
    /// - Parameter locksFiles: true if the system refuses to read protected files while the device is locked.
    package static func failure(
        _ participle: String, error: SystemError, locksFiles: Bool = systemLocksFiles
    ) -> StorageError {
        if error.isMissing {
            return StorageError(
                .sourceChanged, message: "The local file cannot be \(participle): \(error)", cause: error)
        }
        // A protected file on a locked device (Apple, "Encrypting Your App's Files").
        if locksFiles, error.isRefusedBySystem {
            return StorageError(
                .sourceLocked, message: "The local file cannot be \(participle) while the device is locked: \(error)",
                cause: error)
        }
        return StorageError(
            .sourceUnreadable,
            message: "The local file cannot be \(participle): \(error). Check the disk and the folder's permissions.",
            cause: error)
    }
}
