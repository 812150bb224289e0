#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Renames to names that must not exist yet.
enum FreeName {
    /// Renames a file, and fails if the new name exists by now. A plain rename would replace an existing file. On
    /// success, the old name is removed.
    ///
    /// - Parameter folder: the open folder of both names. By default the working directory of this process.
    /// - Returns: false with `errno` set.
    static func take(_ name: FilePath, for file: FilePath, in folder: Int32 = AT_FDCWD) -> Bool {
        if file.withCString({ from in name.withCString { linkat(folder, from, folder, $0, 0) } }) == 0 {
            _ = file.withCString { unlinkat(folder, $0, 0) }
            return true
        }
        // Memory cards and some network shares do not support hard links.
        guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) else { return false }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let number = name.withCString { openat(folder, $0, flags, 0o666) }
        guard number >= 0 else { return false }
        close(number)
        // The name is reserved now. The rename replaces only the empty file that reserves it.
        if file.withCString({ from in name.withCString { renameat(folder, from, folder, $0) } }) == 0 { return true }
        let reason = errno
        _ = name.withCString { unlinkat(folder, $0, 0) }
        errno = reason
        return false
    }
}
