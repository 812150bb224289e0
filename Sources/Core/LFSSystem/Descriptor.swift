#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open file, which is closed when the last reference is released.
package final class Descriptor: Sendable {
    /// The descriptor for system calls. It is valid as long as this object exists.
    package let raw: Int32
    /// The path that the file was opened with, used in messages only.
    package let path: String
    /// The object that closes the descriptor. Nil if this object does.
    private let owner: (any AnyObject & Sendable)?

    /// Takes ownership of a descriptor that the caller opened.
    package init(owning raw: Int32, path: String) {
        self.raw = raw
        self.path = path
        owner = nil
    }

    /// Uses the descriptor of another object, which stays open as long as this object exists.
    package init(_ raw: Int32, of owner: any AnyObject & Sendable, path: String) {
        self.raw = raw
        self.path = path
        self.owner = owner
    }

    deinit { if owner == nil { close(raw) } }

    /// Opens an existing file for reading. If the last component is a symbolic link, the call fails with `ELOOP`.
    package static func openForReading(_ path: String) throws(SystemError) -> Descriptor {
        Descriptor(owning: try OpenCall.run(path) { open(path, readingFlags) }, path: path)
    }

    /// Opens an existing file like the method above, by the exact bytes of a path that may not be text.
    package static func openForReading(bytes: [UInt8]) throws(SystemError) -> Descriptor {
        let shown = String(decoding: bytes, as: UTF8.self)
        let path = bytes.map(CChar.init(bitPattern:)) + [0]
        return Descriptor(owning: try OpenCall.run(shown) { open(path, readingFlags) }, path: shown)
    }

    // O_NONBLOCK: opening a named pipe without a writer would block forever.
    private static let readingFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK

    package func status() throws(SystemError) -> FileStatus {
        var raw = stat()
        try checked("fstat", path) { fstat(self.raw, &raw) }
        return FileStatus(raw)
    }

    /// Makes later reads come from the device instead of the page cache, if the system supports it.
    package func dropCache() {
        #if canImport(Darwin)
        _ = fcntl(raw, F_NOCACHE, 1)
        #else
        _ = posix_fadvise(raw, 0, 0, POSIX_FADV_DONTNEED)
        #endif
    }

    /// Reads at the current position. Returns 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try BorrowedDescriptor.read(raw, into: buffer)
    }

    /// Reads at an offset and keeps the position, so several tasks can share the descriptor. Returns 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try checked("pread", path) { pread(raw, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Returns the first bytes of the file: at most `maxCount`, fewer if the file is shorter.
    package func prefix(_ maxCount: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: maxCount)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in
                var count = 0
                while count < buffer.count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    let next = try read(into: rest, at: Int64(count))
                    if next == 0 { break }
                    count += next
                }
                return count
            }
        }
        return Array(bytes.prefix(try result.get()))
    }

    /// Sets the position, where the next ``write(_:)`` starts.
    package func seek(to offset: Int64) throws(SystemError) {
        try checked("lseek", path) { lseek(raw, off_t(offset), SEEK_SET) }
    }

    /// Writes all of the bytes, with as many system calls as needed.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try checked("write", path) { Self.systemWrite(raw, start: rest.baseAddress, count: rest.count) }
            // The system wrote nothing and reported no error. Retrying could loop forever.
            if count == 0 { throw SystemError.shortWrite(path) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Writes the bytes of an array, like the method above.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in try write(UnsafeRawBufferPointer(buffer)) }
    }

    /// Returns when the bytes and the metadata are on the device.
    ///
    /// After a failure the state of the file is unknown. A second call may wrongly report success, because Linux drops
    /// the dirty pages. So the caller must abandon the file.
    package func synchronize() throws(SystemError) {
        #if canImport(Darwin)
        // On Apple platforms fsync reaches only the drive's cache. F_FULLFSYNC reaches the medium.
        do {
            try checked("fcntl", path) { fcntl(raw, F_FULLFSYNC) }
            return
        } catch let error where !error.isUnknownCommand {
            throw error
        } catch {
            // Network file systems do not support this command.
        }
        #endif
        try checked("fsync", path) { fsync(raw) }
    }

    /// Returns when the bytes and the metadata are ordered before all later writes. After a power failure, no later
    /// write can exist without them. They are on the device once the file's folder is synchronized too.
    ///
    /// On Apple platforms this saves one of two flushes of the drive, about 10 ms each. On other systems it equals
    /// ``synchronize()``. After a failure the caller must abandon the file, as with that method.
    package func synchronizeBeforeFolder() throws(SystemError) {
        #if canImport(Darwin)
        do {
            try checked("fcntl", path) { fcntl(raw, F_BARRIERFSYNC) }
            return
        } catch let error where !error.isUnknownCommand {
            throw error
        } catch {
            // Only APFS supports this command.
        }
        #endif
        try synchronize()
    }

    /// Sets the permission bits exactly, regardless of the umask. Does nothing on a file system without permission
    /// bits.
    ///
    /// - Parameter isNew: true if this process has just created the file. Then `EPERM` also means a limit of the file
    ///   system, whose files all belong to the user who mounted it.
    package func setMode(_ mode: UInt32, isNew: Bool = false) throws(SystemError) {
        do {
            try checked("fchmod", path) { fchmod(raw, mode_t(mode)) }
        } catch let error where error.isWithoutModes || error.errno == EPERM {
            let device = try status().device
            guard error.isWithoutModes || isNew || MissingFeature.modes.isKnown(on: device) else { throw error }
            MissingFeature.modes.log(error, device: device)
        }
    }

    /// Synchronizes a folder, like ``synchronize()``. Does nothing on a file system that cannot sync folders.
    func synchronizeFolder() throws(SystemError) {
        do {
            try synchronize()
        } catch let error where error.isWithoutFolderSync {
            MissingFeature.folderSync.log(error, device: try status().device)
        }
    }

    package func truncate(to byteCount: Int64) throws(SystemError) {
        try checked("ftruncate", path) { ftruncate(raw, off_t(byteCount)) }
    }

    // A separate function, because inside this type the name `write` means its own method.
    private static func systemWrite(_ number: Int32, start: UnsafeRawPointer?, count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.write(number, start, count)
        #elseif canImport(Musl)
        Musl.write(number, start, count)
        #else
        Darwin.write(number, start, count)
        #endif
    }
}
