#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The space on a file system, in bytes.
struct DiskSpace: Sendable {
    let total: Int64
    /// The unused space.
    let available: Int64
    /// The space for files. The rest is reserved for the database.
    let free: Int64

    /// Reads the space of a folder's file system. Nil if it cannot be read.
    init?(of folder: String) {
        var status = statvfs()
        guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return nil }
        func byteCount(_ blocks: UInt64) -> Int64 {
            let (product, isOverflown) = blocks.multipliedReportingOverflow(by: UInt64(status.f_frsize))
            return isOverflown ? .max : Int64(clamping: product)
        }
        total = byteCount(UInt64(status.f_blocks))
        available = byteCount(UInt64(status.f_bavail))
        free = max(available - 2 * Self.logByteCount(total), 0)
    }

    /// A suffix for messages about a full disk. The cause may also be the file size limit of this process.
    static var limitWords: String {
        var limit = rlimit()
        #if canImport(Darwin)
        let resource = RLIMIT_FSIZE
        #else
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #endif
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur != rlim_t.max, limit.rlim_cur < 1 << 62
        else { return "" }
        return ", or a file has reached the limit of 'ulimit -f', \(Format.bytes(Int64(clamping: limit.rlim_cur)))"
    }

    /// Returns the size at which SQLite checkpoints the database's log: the usual 4 MB, or less on a small disk.
    static func logByteCount(_ total: Int64) -> Int64 { min(max(total / 16, 256 << 10), 4_096_000) }
}
