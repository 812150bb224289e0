#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open file, closed when the last reference goes.
package final class Descriptor: Sendable {
    /// The number that system calls take; valid as long as this object lives.
    package let raw: Int32
    /// The path it was opened by, for messages only.
    package let path: String

    /// Takes over a descriptor that the caller opened.
    package init(owning raw: Int32, path: String) {
        self.raw = raw
        self.path = path
    }

    deinit { close(raw) }

    /// Opens a file that exists, for reading. A symbolic link at its end is refused with `ELOOP`.
    package static func openForReading(_ path: String) throws(SystemError) -> Descriptor {
        // O_NONBLOCK: a named pipe that nobody writes to would block the open for ever.
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        return Descriptor(owning: try OpenCall.run(path) { open(path, flags) }, path: path)
    }

    package func status() throws(SystemError) -> FileStatus {
        var raw = stat()
        try checked("fstat", path) { fstat(self.raw, &raw) }
        return FileStatus(raw)
    }

    /// Has what is read from here on come from the device, not from the system's memory, as far as the system can do
    /// that.
    package func dropCache() {
        #if canImport(Darwin)
        _ = fcntl(raw, F_NOCACHE, 1)
        #else
        _ = posix_fadvise(raw, 0, 0, POSIX_FADV_DONTNEED)
        #endif
    }

    /// Reads at the current position. 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try BorrowedDescriptor.read(raw, into: buffer)
    }

    /// Reads at an offset and leaves the position alone, so that several tasks can share the descriptor. 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try checked("pread", path) { pread(raw, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// The first bytes of the file: so many, or all that it has.
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

    /// Puts the position, where the next ``write(_:)`` begins, at an offset.
    package func seek(to offset: Int64) throws(SystemError) {
        try checked("lseek", path) { lseek(raw, off_t(offset), SEEK_SET) }
    }

    /// Writes all of the bytes, however many calls that takes.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try checked("write", path) { Self.systemWrite(raw, rest.baseAddress, rest.count) }
            // Nothing taken and no error: asking again and again would be for ever.
            if count == 0 { throw SystemError.shortWrite(path) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// As the one above, for bytes in an array.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in try write(UnsafeRawBufferPointer(buffer)) }
    }

    /// Returns when the bytes and the metadata are on the device.
    ///
    /// After a failure the state of the file is unknown and a second call may report success wrongly
    /// (Linux drops the dirty pages), so the caller gives the file up.
    package func synchronize() throws(SystemError) {
        #if canImport(Darwin)
        // fsync on Apple platforms reaches the drive's cache only; F_FULLFSYNC reaches the medium.
        do {
            try checked("fcntl", path) { fcntl(raw, F_FULLFSYNC) }
            return
        } catch let error where !error.isUnknownCommand {
            throw error
        } catch {
            // Network file systems have no such command.
        }
        #endif
        try checked("fsync", path) { fsync(raw) }
    }

    /// Returns when the bytes and the metadata are ordered before all later writes: a power cut cannot keep a later
    /// write without them. They are on the device once the file's folder is synchronized as well.
    ///
    /// On Apple platforms this saves one of two flushes of the drive, some 10 ms each. Elsewhere it is the same as
    /// ``synchronize()``. The caller gives the file up after a failure, as it does there.
    package func synchronizeBeforeFolder() throws(SystemError) {
        #if canImport(Darwin)
        do {
            try checked("fcntl", path) { fcntl(raw, F_BARRIERFSYNC) }
            return
        } catch let error where !error.isUnknownCommand {
            throw error
        } catch {
            // Only APFS has this command.
        }
        #endif
        try synchronize()
    }

    /// Sets the permission bits exactly, whatever the umask says. Does nothing on a file system without them.
    ///
    /// - Parameter isNew: whether this process has just made the file. Then `EPERM` is about the file system, too: the
    ///   files on it belong to whoever mounted it.
    package func setMode(_ mode: UInt32, isNew: Bool = false) throws(SystemError) {
        do {
            try checked("fchmod", path) { fchmod(raw, mode_t(mode)) }
        } catch let error where error.isWithoutModes || error.errno == EPERM {
            let device = try status().device
            guard error.isWithoutModes || isNew || MissingFeature.modes.isKnown(on: device) else { throw error }
            MissingFeature.modes.log(error, device: device)
        }
    }

    /// As ``synchronize()``, for a folder. Does nothing on a file system that cannot sync one.
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

    // Here the bare name means this type's own method.
    private static func systemWrite(_ number: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.write(number, start, count)
        #elseif canImport(Musl)
        Musl.write(number, start, count)
        #else
        Darwin.write(number, start, count)
        #endif
    }
}
