#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A name that nobody may have yet.
enum FreeName {
    /// Gives a file its name, and fails if it was taken meanwhile, where a plain rename would replace what has it. The
    /// name that it had is gone then.
    ///
    /// - Parameter folder: what both are names in, an open folder; by default the one of this process.
    /// - Returns: false with `errno` set.
    static func take(_ name: FilePath, for file: FilePath, in folder: Int32 = AT_FDCWD) -> Bool {
        if file.withCString({ from in name.withCString { linkat(folder, from, folder, $0, 0) } }) == 0 {
            _ = file.withCString { unlinkat(folder, $0, 0) }
            return true
        }
        // Cards and some network shares have no hard links.
        guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) else { return false }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let number = name.withCString { openat(folder, $0, flags, 0o666) }
        guard number >= 0 else { return false }
        close(number)
        // The name is ours now, and what is replaced is the empty file that holds it.
        if file.withCString({ from in name.withCString { renameat(folder, from, folder, $0) } }) == 0 { return true }
        let reason = errno
        _ = name.withCString { unlinkat(folder, $0, 0) }
        errno = reason
        return false
    }
}
