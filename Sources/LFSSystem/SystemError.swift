#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A system call that failed: which one, on what, and the `errno` it left.
package struct SystemError: Error, Sendable, CustomStringConvertible {
    /// The call, as its manual page names it: `open`, `fsync`, `rename`.
    package let call: String
    /// The file or directory that the call was about.
    package let path: String
    /// The value of `errno` right after the call.
    package let errno: Int32

    package init(call: String, path: String, errno: Int32) {
        self.call = call
        self.path = path
        self.errno = errno
    }

    /// What went wrong in the system's own words, without the call and the path.
    package var reason: String {
        let words = String(cString: strerror(errno))
        guard errno == EMFILE else { return words }
        return "\(words), \(OpenFileLimit.current) is the limit of this process: raise it, ulimit -n"
    }

    package var description: String { "\(call) \(path): \(reason)" }

    /// The name or one of its folders does not exist.
    package var isMissing: Bool { errno == ENOENT || errno == ENOTDIR }
    /// The file system or the quota has no room left, or the file would grow past what is allowed.
    package var isNoSpace: Bool { errno == ENOSPC || errno == EDQUOT || errno == EFBIG }
    /// The caller may not do this here.
    package var isPermissionDenied: Bool { errno == EACCES || errno == EPERM }
    package var isReadOnly: Bool { errno == EROFS }
    package var isExisting: Bool { errno == EEXIST || errno == ENOTEMPTY }
    package var isOtherFileSystem: Bool { errno == EXDEV }
    /// The file system has no such operation. Linux says `EPERM` for hard links that cannot be made.
    package var isUnsupported: Bool { [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) }
    package var isSymbolicLink: Bool { errno == ELOOP }
    /// A folder was asked for, and the name or one before it is something else.
    package var isNoFolder: Bool { errno == ENOTDIR }
    /// The process or the system has no descriptor or no memory left for the call, which says nothing of the file.
    package var isShortage: Bool { isDescriptorShortage || errno == ENOMEM }
    /// The process or the system has no descriptor left.
    package var isDescriptorShortage: Bool { errno == EMFILE || errno == ENFILE }
    /// The file system has no locks, or its server for locks does not answer.
    package var isWithoutLocks: Bool { call == "flock" && [ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(errno) }
    /// The file system has no permission bits.
    var isWithoutModes: Bool { [ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) }
    /// The file system cannot sync a folder. `EIO` is different: the device has failed.
    var isWithoutFolderSync: Bool { [EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(errno) }
    /// What has the name cannot be opened as a file: a socket (`EOPNOTSUPP` on Apple platforms), a device without a
    /// driver.
    package var isNoFile: Bool { [ENXIO, ENODEV, EOPNOTSUPP].contains(errno) }
    /// The file system does not know this command of fcntl(2).
    package var isUnknownCommand: Bool { [ENOTSUP, EINVAL, ENOTTY].contains(errno) }
}

/// Runs a call that returns -1 on failure, again as long as a signal interrupts it.
@discardableResult
package func checked<Result: SignedInteger>(
    _ call: String, _ path: @autoclosure () -> String, _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        let code = errno
        if code != EINTR { throw SystemError(call: call, path: path(), errno: code) }
    }
}

extension SystemError {
    /// A file that is shorter than what was written to it, although no call failed.
    package static func shortWrite(_ path: String) -> SystemError {
        SystemError(call: "write", path: path, errno: EIO)
    }
}
