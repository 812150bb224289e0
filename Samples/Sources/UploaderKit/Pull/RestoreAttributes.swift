import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Times and permissions of what is restored. Who it belongs to stays as it is: it is whoever restores it.
extension FileAttributes {
    /// Gives them to what was opened.
    ///
    /// Some network shares keep no times or modes, or not these, and no bytes are lost by that.
    /// - Returns: false with `errno` set when the disk fails.
    func apply(to descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return errno != EIO }
        guard futimens(descriptor, times(status)) == 0 || errno != EIO else { return false }
        guard let permissions else { return true }
        return fchmod(descriptor, permissions.mode(for: status)) == 0 || errno != EIO
    }

    /// Those of two folders that come into one: what either lets nobody do, nobody may.
    func narrowed(by other: FileAttributes) -> FileAttributes {
        var both = self
        guard let theirs = other.permissions else { return both }
        both.permissions?.mode &= theirs.mode
        if both.permissions == nil { both.permissions = theirs }
        return both
    }

    /// Gives a link its time. The permissions of a link are none.
    func apply(toLink name: FilePath, in folder: OpenFolder) -> Bool {
        var status = stat()
        guard name.withCString({ fstatat(folder.number, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 else {
            return errno != EIO
        }
        let isSet = name.withCString { utimensat(folder.number, $0, times(status), AT_SYMLINK_NOFOLLOW) == 0 }
        return isSet || errno != EIO
    }

    /// Whether something looks as these say.
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
    /// The mode for something that is there. The setuid and setgid bits never come back: a program would run with the
    /// rights of whoever restores it, and the database that has the mode may come from a storage that somebody has
    /// changed. The sticky bit of a folder keeps others from removing what is in it, so it comes back.
    func mode(for status: stat) -> mode_t {
        mode_t(mode & (status.st_mode & S_IFMT == S_IFDIR ? 0o1777 : 0o777))
    }
}
