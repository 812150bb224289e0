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
    /// - Returns: false with `errno` set.
    static func take(_ name: FilePath, for file: FilePath) -> Bool {
        if file.withCString({ from in name.withCString { link(from, $0) } }) == 0 {
            _ = file.withCString { unlink($0) }
            return true
        }
        // Cards and some network shares have no hard links.
        guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) else { return false }
        let number = name.withCString { openat(AT_FDCWD, $0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) }
        guard number >= 0 else { return false }
        close(number)
        // The name is ours now, and what is replaced is the empty file that holds it.
        if file.withCString({ from in name.withCString { rename(from, $0) } }) == 0 { return true }
        let reason = errno
        _ = name.withCString { unlink($0) }
        errno = reason
        return false
    }
}
