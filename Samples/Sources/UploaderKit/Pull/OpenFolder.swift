import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A folder that is open. Names are looked up in it, so whoever replaces a folder of its path meanwhile leads nothing
/// that is written elsewhere.
package final class OpenFolder: Sendable {
    /// The number that system calls take; valid as long as this object lives.
    let number: Int32
    /// The path that it was reached by, for messages.
    let path: FilePath

    private init(_ number: Int32, _ path: FilePath) { (self.number, self.path) = (number, path) }

    deinit { close(number) }

    // MARK: Opening

    /// Opens a folder that links may lead to; nil when nothing is there.
    ///
    /// - Throws: ``UploaderError`` when something else is.
    static func open(_ path: FilePath) throws -> OpenFolder? { try open(path, path, in: AT_FDCWD, 0) }

    /// Opens a folder in this one; nil when nothing is there.
    ///
    /// - Throws: ``UploaderError`` when something else is, a link as well.
    func folder(_ name: [UInt8]) throws -> OpenFolder? {
        try Self.open(FilePath(bytes: name), path.appending(name), in: number, O_NOFOLLOW)
    }

    private static func open(
        _ name: FilePath, _ path: FilePath, in folder: Int32, _ flags: Int32
    ) throws -> OpenFolder? {
        let flags = flags | O_DIRECTORY | O_CLOEXEC
        var number = name.withCString { openat(folder, $0, flags | O_RDONLY) }
        // Names are found also in a folder that may not be listed.
        if number < 0, errno == EACCES { number = name.withCString { openat(folder, $0, flags | searching) } }
        if number >= 0 { return OpenFolder(number, path) }
        switch errno {
        case ENOENT: return nil
        case ENOTDIR, ELOOP: throw UploaderError("\(path) is in the way: it is not a folder")
        default: throw RestoreFailure.of(path)
        }
    }

    #if os(Linux)
    // `O_PATH`, which the C library names for its own extensions only.
    private static let searching: Int32 = 0o10000000
    #else
    private static let searching = O_SEARCH
    #endif

    // MARK: What is in it

    /// What has a name in it, a link itself; nil when nothing has it.
    func status(of name: [UInt8]) throws -> stat? {
        var status = stat()
        if FilePath(bytes: name).withCString({ fstatat(number, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 {
            return status
        }
        if errno == ENOENT { return nil }
        throw RestoreFailure.of(path.appending(name))
    }

    /// Returns the names in it, in no order, without `.` and `..`.
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

    /// Makes a folder in it.
    ///
    /// - Returns: false when something has the name already.
    func make(_ name: [UInt8], mode: mode_t) throws -> Bool {
        if FilePath(bytes: name).withCString({ mkdirat(number, $0, mode) }) == 0 { return true }
        let reason = errno
        // Some systems say first that nothing can be made here.
        if reason == EEXIST { return false }
        if try status(of: name) != nil { return false }
        errno = reason
        throw RestoreFailure.of(path.appending(name))
    }

    /// Gives what has one name another one, in the place of what has that.
    ///
    /// - Returns: false with `errno` set.
    func rename(_ name: [UInt8], to other: [UInt8]) -> Bool {
        FilePath(bytes: name).withCString { from in
            FilePath(bytes: other).withCString { renameat(number, from, number, $0) == 0 }
        }
    }

    /// Removes a name as far as it is there: what could not be removed is found by whoever comes next.
    func discard(_ name: [UInt8]) { _ = FilePath(bytes: name).withCString { unlinkat(number, $0, 0) } }

    // MARK: Itself

    func status() throws -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw RestoreFailure.of(path) }
        return status
    }

    /// Sets its permissions, as far as that can be done: what is written into it next tells when it could not.
    func setMode(_ mode: mode_t) {
        #if os(Linux)
        // A folder that was opened for names only is reached by its number.
        if fchmod(number, mode) != 0, errno == EBADF { _ = chmod("/proc/self/fd/\(number)", mode) }
        #else
        _ = fchmod(number, mode)
        #endif
    }
}
