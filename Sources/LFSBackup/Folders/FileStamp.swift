#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension AssetStamp {
    /// That of a file: size, time of the last change of its content, and time of the last change of anything, which no
    /// program can set back.
    init(_ status: stat) {
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        let size = Int64(status.st_size)
        self.init(
            byteCount: size,
            text: "\(size):\(modified.tv_sec).\(modified.tv_nsec):\(changed.tv_sec).\(changed.tv_nsec)")
    }
}

/// What a file or folder is, whatever path leads to it.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Nil when there is nothing at the path.
    init?(at path: AssetName) {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { return nil }
        self.init(status)
    }
}
