import Foundation
import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open folder. Names are looked up in it, so replacing a folder of its path cannot redirect writes to another
/// place.
package final class OpenFolder: Sendable {
    /// The descriptor for system calls. Valid while this object lives.
    let number: Int32
    /// The path to the folder, for messages.
    let path: FilePath

    private init(_ number: Int32, path: FilePath) { (self.number, self.path) = (number, path) }

    deinit { close(number) }

    // MARK: Opening

    /// Opens a folder. The path may contain links. Returns nil if nothing exists at the path.
    ///
    /// - Throws: ``UploaderError`` if it is not a folder.
    static func open(_ path: FilePath) throws -> OpenFolder? { try open(path, path: path, in: AT_FDCWD, flags: 0) }

    /// Opens a folder in this one. Returns nil if nothing has the name.
    ///
    /// - Throws: ``UploaderError`` if it is not a folder, or if it is a link.
    func folder(_ name: [UInt8]) throws -> OpenFolder? {
        try Self.open(FilePath(bytes: name), path: path.appending(name), in: number, flags: O_NOFOLLOW)
    }

    private static func open(
        _ name: FilePath, path: FilePath, in folder: Int32, flags: Int32
    ) throws -> OpenFolder? {
        let flags = flags | O_DIRECTORY | O_CLOEXEC
        var number = name.withCString { openat(folder, $0, flags | O_RDONLY) }
        // Lookups also work in a folder that may not be listed.
        if number < 0, errno == EACCES {
            number = name.withCString { openat(folder, $0, flags | searching) }
        }
        if number >= 0 { return OpenFolder(number, path: path) }
        switch errno {
        case ENOENT: return nil
        case ENOTDIR, ELOOP: throw UploaderError("\(path) is in the way: it is not a folder")
        default: throw RestoreFailure.of(path)
        }
    }

    #if os(Linux)
    // `O_PATH`, which the C library only defines with its own extensions.
    private static let searching: Int32 = 0o10000000
    #else
    private static let searching = O_SEARCH
    #endif

    // MARK: Content

    /// Returns the status of a name in the folder, without following a link. Nil if nothing has the name.
    func status(of name: [UInt8]) throws -> stat? {
        var status = stat()
        if FilePath(bytes: name).withCString({ fstatat(number, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 {
            return status
        }
        if errno == ENOENT { return nil }
        throw RestoreFailure.of(path.appending(name))
    }

    /// Returns the names in the folder, in no particular order, without `.` and `..`.
    func names() throws -> [[UInt8]] {
        let number = openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw RestoreFailure.of(path) }
        guard let stream = fdopendir(number) else {
            close(number)
            throw RestoreFailure.of(path)
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw RestoreFailure.of(path) }
                return names
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
    }

    /// Writes the names in the folder to the disk, where the file system can do that for a folder.
    ///
    /// - Returns: false with `errno` set.
    func sync() -> Bool {
        if fsync(number) == 0 { return true }
        // A folder that may not be listed is open for lookups only.
        let reason = errno
        return [EBADF, EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(reason)
    }

    /// Creates a folder in this one.
    ///
    /// - Returns: false if the name exists already.
    func make(_ name: [UInt8], mode: mode_t) throws -> Bool {
        if FilePath(bytes: name).withCString({ mkdirat(number, $0, mode) }) == 0 { return true }
        let reason = errno
        // Some systems first report that the folder is not writable.
        if reason == EEXIST { return false }
        if try status(of: name) != nil { return false }
        errno = reason
        throw RestoreFailure.of(path.appending(name))
    }

    /// Renames an entry, and replaces an existing one with the new name.
    ///
    /// - Returns: false with `errno` set.
    func rename(_ name: [UInt8], to other: [UInt8]) -> Bool {
        FilePath(bytes: name).withCString { from in
            FilePath(bytes: other).withCString { renameat(number, from, number, $0) == 0 }
        }
    }

    /// Removes a name if possible. Later runs handle a file that could not be removed.
    func discard(_ name: [UInt8]) { _ = FilePath(bytes: name).withCString { unlinkat(number, $0, 0) } }

    /// Returns true if the file system stores no permissions, for example exFAT. All its files have the owner and the
    /// mode that its mount options name.
    ///
    /// Creates a file and removes it. The mode of a file that this process has just created cannot be the choice of
    /// another user.
    func isWithoutModes() -> Bool {
        let name = Array("\(UUID().uuidString).probe".utf8)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = FilePath(bytes: name).withCString { openat(number, $0, flags, 0o600) }
        guard file >= 0 else { return false }
        defer {
            close(file)
            discard(name)
        }
        guard fchmod(file, 0o600) == 0 else { return [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) }
        var status = stat()
        return fstat(file, &status) == 0 && status.st_mode & 0o077 != 0
    }

    // MARK: The folder itself

    func status() throws -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw RestoreFailure.of(path) }
        return status
    }

    /// Sets the permissions if possible. A failure shows in the next write into the folder.
    func setMode(_ mode: mode_t) {
        #if os(Linux)
        // A folder that was opened only for lookups is accessible through its descriptor number.
        if fchmod(number, mode) != 0, errno == EBADF { _ = chmod("/proc/self/fd/\(number)", mode) }
        #else
        _ = fchmod(number, mode)
        #endif
    }
}
