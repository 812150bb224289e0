import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension Process {
    /// Starts the process like `run()`, while no other process of the tests starts.
    ///
    /// Before a start, Foundation lists the open descriptors to close them in the new process. If another thread
    /// starts a process in that moment, its descriptors are not in the list, and the new process inherits them.
    /// Foundation then waits for the other process until both have ended.
    ///
    /// The lock is on this file, because several modules of one test program contain this method.
    func start() throws {
        let lock = open(#filePath, O_RDONLY | O_CLOEXEC)
        guard lock >= 0 else { throw CocoaError(.fileReadNoSuchFile) }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw CocoaError(.fileLocking) }
        }
        try run()
    }
}
