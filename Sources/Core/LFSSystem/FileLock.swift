#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An advisory lock on an open file (`flock`). The system releases it when the process ends for any reason.
package final class FileLock: Sendable {
    package enum Kind: Sendable { case shared, exclusive }

    private let descriptor: Descriptor

    /// Creates a lock on an open file without locking it.
    package init(_ file: Descriptor) {
        descriptor = file
    }

    /// Acquires the lock, or changes its kind, without waiting. Returns false if another holder prevents it.
    package func tryLock(_ kind: Kind) throws(SystemError) -> Bool {
        do {
            try checked("flock", descriptor.path) { flock(descriptor.raw, Self.flag(kind) | LOCK_NB) }
            return true
        } catch let error where error.errno == EWOULDBLOCK {
            return false
        }
    }

    /// Acquires the lock, or changes its kind. Blocks the thread until then.
    package func lock(_ kind: Kind) throws(SystemError) {
        try checked("flock", descriptor.path) { flock(descriptor.raw, Self.flag(kind)) }
    }

    package func unlock() throws(SystemError) {
        try checked("flock", descriptor.path) { flock(descriptor.raw, LOCK_UN) }
    }

    private static func flag(_ kind: Kind) -> Int32 { kind == .shared ? LOCK_SH : LOCK_EX }
}
