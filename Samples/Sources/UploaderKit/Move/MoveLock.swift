#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Lets one uploader at a time move the originals of a database: a lock (`flock`) on a file beside it, which is there
/// as long as the lock is held. The system gives the lock back when the process ends, however it ends.
struct MoveLock {
    private let path: String
    private let number: Int32

    /// The file's name behind that of the database.
    static let suffix = "-moving"

    /// Takes the lock.
    ///
    /// - Parameter database: the database's file.
    /// - Returns: nil while another process has it.
    /// - Throws: ``UploaderError`` when the file cannot be made.
    init?(database: String) throws {
        path = database + Self.suffix
        while true {
            let number = path.withCString { open($0, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
            guard number >= 0 else { throw UploaderError("\(path): \(String(cString: strerror(errno)))") }
            // Some network shares have no locks.
            if flock(number, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(number)
                return nil
            }
            var (named, opened) = (stat(), stat())
            if fstat(number, &opened) == 0, path.withCString({ lstat($0, &named) }) == 0,
                named.st_ino == opened.st_ino, named.st_dev == opened.st_dev
            {
                self.number = number
                return
            }
            // Whoever had it has just removed the file: this lock is on none that others find.
            close(number)
        }
    }

    /// Gives it back.
    func release() {
        _ = path.withCString { unlink($0) }
        close(number)
    }
}
