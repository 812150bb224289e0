#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A lock that lets only one uploader at a time move the originals of a database. It is a lock (`flock`) on a file next
/// to the database, which exists while the lock is held. The system releases the lock when the process ends, even after
/// a kill.
struct MoveLock {
    private let path: String
    private let number: Int32

    /// The suffix of the file, after the name of the database.
    static let suffix = "-moving"

    /// Acquires the lock.
    ///
    /// - Parameter database: the path of the database.
    /// - Returns: nil while another process holds the lock.
    /// - Throws: ``UploaderError`` if the file cannot be created.
    init?(database: String) throws {
        path = database + Self.suffix
        while true {
            let number = path.withCString { open($0, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
            guard number >= 0 else { throw UploaderError("\(path): \(String(cString: strerror(errno)))") }
            // Some network shares do not support locks.
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
            // The previous holder has just removed the file, so this lock is on a file that others cannot find.
            close(number)
        }
    }

    /// Releases the lock.
    func release() {
        _ = path.withCString { unlink($0) }
        close(number)
    }
}
