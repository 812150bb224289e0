#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file that a walk has met, and the named file or folder by which it was reached.
struct FileSighting: Hashable, Sendable {
    let file: FileIdentity
    let root: FileIdentity
    /// The length of the root's path, the beginning of the file's.
    let rootLength: Int
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
