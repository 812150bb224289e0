import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Times and permissions of restored files. The owner is the user who restores them.
extension FileAttributes {
    /// Sets the attributes of an open file or folder.
    ///
    /// Some network shares do not store times or modes, or not all values. This does not affect the bytes.
    /// - Returns: false with `errno` set if the disk fails.
    func apply(to descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return errno != EIO }
        guard futimens(descriptor, times(status)) == 0 || errno != EIO else { return false }
        guard let permissions else { return true }
        return fchmod(descriptor, permissions.mode(for: status)) == 0 || errno != EIO
    }

    /// Returns the attributes for two folders that are merged into one. Only the permissions that both have are kept.
    func narrowed(by other: FileAttributes) -> FileAttributes {
        var both = self
        guard let theirs = other.permissions else { return both }
        both.permissions?.mode &= theirs.mode
        if both.permissions == nil { both.permissions = theirs }
        return both
    }

    /// Sets the time of a link. Links have no permissions.
    func apply(toLink name: FilePath, in folder: OpenFolder) -> Bool {
        var status = stat()
        guard name.withCString({ fstatat(folder.number, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 else {
            return errno != EIO
        }
        let isSet = name.withCString { utimensat(folder.number, $0, times(status), AT_SYMLINK_NOFOLLOW) == 0 }
        return isSet || errno != EIO
    }

    /// Returns true if a file has these attributes.
    func fit(_ status: stat) -> Bool {
        let now = FileAttributes(modified: status)
        let hasMode = permissions.map { $0.mode(for: status) == mode_t(status.st_mode & 0o7777) } ?? true
        return hasMode && now.seconds == seconds && now.nanoseconds == nanoseconds
    }

    private init(modified status: stat) {
        #if canImport(Darwin)
        let modified = status.st_mtimespec
        #else
        let modified = status.st_mtim
        #endif
        self.init(seconds: modified.tv_sec, nanoseconds: modified.tv_nsec, permissions: nil)
    }

    private func times(_ status: stat) -> [timespec] {
        #if canImport(Darwin)
        let accessed = status.st_atimespec
        #else
        let accessed = status.st_atim
        #endif
        return [accessed, timespec(tv_sec: seconds, tv_nsec: nanoseconds)]
    }
}

extension FileAttributes.Permissions {
    /// Returns the mode for an existing file or folder. The setuid and setgid bits are never restored. With them, a
    /// program would run with the rights of the restoring user, although the database with the mode may come from a
    /// manipulated storage. The sticky bit of a folder is restored, because it prevents other users from removing its
    /// content.
    func mode(for status: stat) -> mode_t {
        mode_t(mode & (status.st_mode & S_IFMT == S_IFDIR ? 0o1777 : 0o777))
    }
}
