#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The error of a failed system call: the name of the call, its path and `errno`.
package struct SystemError: Error, Sendable, CustomStringConvertible {
    /// The name of the call as in its manual page: `open`, `fsync`, `rename`.
    package let call: String
    /// The file or directory that the call was made for.
    package let path: String
    /// The value of `errno` right after the call.
    package let errno: Int32

    package init(call: String, path: String, errno: Int32) {
        self.call = call
        self.path = path
        self.errno = errno
    }

    /// The system's text for the error, without the call and the path.
    package var reason: String {
        let words = String(cString: strerror(errno))
        guard errno == EMFILE else { return words }
        return "\(words), \(OpenFileLimit.current) is the limit of this process: raise it with ulimit -n"
    }

    package var description: String { "\(call) \(path): \(reason)" }

    /// The entry or one of its parent folders does not exist.
    package var isMissing: Bool { errno == ENOENT || errno == ENOTDIR }
    /// The file system or the quota has no space left, or the file would exceed the allowed size.
    package var isNoSpace: Bool { errno == ENOSPC || errno == EDQUOT || errno == EFBIG }
    /// The process lacks the permission for this operation.
    package var isPermissionDenied: Bool { errno == EACCES || errno == EPERM }
    /// The system refuses the operation whatever the file's mode is, as iOS does for a protected file while the device
    /// is locked.
    package var isRefusedBySystem: Bool { errno == EPERM }
    package var isReadOnly: Bool { errno == EROFS }
    package var isExisting: Bool { errno == EEXIST || errno == ENOTEMPTY }
    package var isOtherFileSystem: Bool { errno == EXDEV }
    /// The file system does not support the operation. Linux returns `EPERM` if it cannot create hard links.
    package var isUnsupported: Bool { [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) }
    /// The system or the file system has no exclusive rename, such as NFS. A sandbox returns `EPERM`.
    var isWithoutExclusiveRename: Bool { errno == EINVAL || isUnsupported }
    package var isSymbolicLink: Bool { errno == ELOOP }
    /// The call expected a folder, but the name or one of its parents is something else.
    package var isNoFolder: Bool { errno == ENOTDIR }
    /// The process or the system lacks descriptors or memory for the call. The cause is not the file.
    package var isShortage: Bool { isDescriptorShortage || errno == ENOMEM }
    /// The process or the system has no descriptor left.
    package var isDescriptorShortage: Bool { errno == EMFILE || errno == ENFILE }
    /// The file system does not support locks, or its lock server does not respond.
    package var isWithoutLocks: Bool { call == "flock" && [ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(errno) }
    /// The file system has no permission bits.
    var isWithoutModes: Bool { [ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) }
    /// The file system cannot sync a folder. `EIO` is different: the device has failed.
    var isWithoutFolderSync: Bool { [EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(errno) }
    /// The entry cannot be opened as a file. It is a socket (`EOPNOTSUPP` on Apple platforms) or a device without a
    /// driver.
    package var isNoFile: Bool { [ENXIO, ENODEV, EOPNOTSUPP].contains(errno) }
    /// The file system does not support this command of fcntl(2).
    package var isUnknownCommand: Bool { [ENOTSUP, EINVAL, ENOTTY].contains(errno) }
}

/// Runs a call that returns -1 on failure, and retries it while signals interrupt it.
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
    /// Returns the error for a file that is shorter than the bytes written to it, although no call failed.
    package static func shortWrite(_ path: String) -> SystemError {
        SystemError(call: "write", path: path, errno: EIO)
    }
}
