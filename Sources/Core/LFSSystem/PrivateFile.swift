#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A database file that only its owner may read.
package enum PrivateFile {
    private static let mode: mode_t = 0o600

    /// Creates an empty file with mode 0600 if it is missing. Otherwise removes the permissions of group and others
    /// from the existing file and from SQLite's files next to it.
    ///
    /// SQLite accepts an empty file as an empty database. It gives the WAL and its index the mode of the database file.
    ///
    /// - Returns: the paths of this user's files that others may still read, because the file system has no permission
    ///   bits. Files of other users are neither changed nor returned.
    /// - Throws: if the file cannot be created.
    @discardableResult package static func make(_ path: String) throws(SystemError) -> [String] {
        do {
            let number = try OpenCall.run(path, flags: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC) {
                openat(AT_FDCWD, path, $0, mode)
            }
            close(number)
            return []
        } catch let error where error.isExisting {
            // SQLite also resolves links, and puts its other files next to the resolved file.
            let file = resolved(path)
            return ["", "-wal", "-shm", "-journal"].map { file + $0 }.filter { !narrow($0) }
        }
    }

    private static func resolved(_ path: String) -> String {
        guard let target = realpath(path, nil) else { return path }
        defer { free(target) }
        return String(cString: target)
    }

    /// - Returns: false if others may still read a file of this user. Files of other users keep their modes.
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
