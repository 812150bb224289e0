import LFSSystem

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
    /// Whether it takes less room than its size, as a file with holes does.
    let isSparse: Bool
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

extension Asset {
    /// The room that its bytes take on a disk, as far as it is known before they are read. Holes take none.
    var dataByteCount: Int64 {
        let size = max(stamp.byteCount ?? 0, 0)
        guard sighting?.isSparse == true else { return size }
        let number = id.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        // Why it cannot be opened is reported when it is read.
        guard number >= 0 else { return size }
        defer { close(number) }
        return SparseFile.dataByteCount(number, size: size)
    }
}
