#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of a database, which its owner alone may read.
package enum PrivateFile {
    private static let mode: mode_t = 0o600

    /// Makes an empty file with mode 0600 if there is none, and takes the rights of others from one that is there, and
    /// from what SQLite keeps beside it.
    ///
    /// SQLite takes an empty file for an empty database, and gives its WAL and its index the mode of the database.
    ///
    /// - Returns: the paths that others may still read: they are another user's, or on a file system without modes.
    /// - Throws: when the file cannot be made.
    @discardableResult package static func make(_ path: String) throws(SystemError) -> [String] {
        do {
            let number = try OpenCall.run(path) { openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
            close(number)
            return []
        } catch let error where error.isExisting {
            // Links are resolved as SQLite resolves them: its other files are beside the file that it found.
            let file = resolved(path)
            return ["", "-wal", "-shm", "-journal"].map { file + $0 }.filter { !narrow($0) }
        }
    }

    private static func resolved(_ path: String) -> String {
        guard let target = realpath(path, nil) else { return path }
        defer { free(target) }
        return String(cString: target)
    }

    /// - Returns: false when others may still read a file of this user. Files of other users keep their modes.
    private static func narrow(_ path: String) -> Bool {
        let number = openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return true }
        defer { close(number) }
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0,
            status.st_uid == geteuid()
        else { return true }
        return fchmod(number, status.st_mode & 0o700) == 0
    }
}
