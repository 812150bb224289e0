#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An advisory lock on an open file (`flock`). The system releases it when the process ends, however it ends.
package final class FileLock: Sendable {
    package enum Kind: Sendable { case shared, exclusive }

    private let descriptor: Descriptor

    /// A lock on an open file; nothing is locked yet.
    package init(_ file: Descriptor) {
        descriptor = file
    }

    /// Takes the lock, or changes its kind, without waiting. Returns false when another holder is in the way.
    package func tryLock(_ kind: Kind) throws(SystemError) -> Bool {
        do {
            try checked("flock", descriptor.path) { flock(descriptor.raw, Self.flag(kind) | LOCK_NB) }
            return true
        } catch let error where error.errno == EWOULDBLOCK {
            return false
        }
    }

    /// Takes the lock, or changes its kind, and blocks the thread until it has it.
    package func lock(_ kind: Kind) throws(SystemError) {
        try checked("flock", descriptor.path) { flock(descriptor.raw, Self.flag(kind)) }
    }

    package func unlock() throws(SystemError) {
        try checked("flock", descriptor.path) { flock(descriptor.raw, LOCK_UN) }
    }

    private static func flag(_ kind: Kind) -> Int32 { kind == .shared ? LOCK_SH : LOCK_EX }
}
