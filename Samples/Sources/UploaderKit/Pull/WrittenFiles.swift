import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The files that a pull has written or found to be right, by what they are: two names may be the same file where case
/// does not count.
final class WrittenFiles: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private let all = Mutex<Set<Identity>>([])
    /// Of files that are where they were pushed from.
    private let returns = Mutex<[MovedTable.Return]>([])

    func note(_ back: MovedTable.Return) { returns.withLock { $0.append(back) } }

    /// Those that were noted since the last call.
    func takeReturns() -> [MovedTable.Return] {
        returns.withLock { returns in
            defer { returns = [] }
            return returns
        }
    }

    /// Notes the file that has a name.
    func note(_ path: FilePath) {
        if let identity = Self.identity(path) { all.withLock { _ = $0.insert(identity) } }
    }

    /// Whether the file that has a name was noted.
    func has(_ path: FilePath) -> Bool {
        Self.identity(path).map { identity in all.withLock { $0.contains(identity) } } ?? false
    }

    /// Nil when nothing is there.
    private static func identity(_ path: FilePath) -> Identity? {
        var status = stat()
        guard path.withCString({ lstat($0, &status) }) == 0 else { return nil }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    }
}
