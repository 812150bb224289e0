import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file that a walk found, and the selected file or folder that led to it.
struct FileSighting: Hashable, Sendable {
    let file: FileIdentity
    let root: FileIdentity
    /// The length of the root's path, with which the file's path starts.
    let rootLength: Int
    /// True if the file takes less space than its size, as a sparse file does.
    let isSparse: Bool
}

/// The identity of a file or folder, independent of the path.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Reads the identity at a path. Nil if nothing exists at the path.
    init?(at path: AssetName) {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { return nil }
        self.init(status)
    }
}

extension Asset {
    /// The disk space of the bytes, as well as it is known before they are read. Holes take no space.
    var dataByteCount: Int64 {
        let size = max(stamp.byteCount ?? 0, 0)
        guard sighting?.isSparse == true else { return size }
        let number = id.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        // The read reports the reason why the file cannot be opened.
        guard number >= 0 else { return size }
        defer { close(number) }
        return SparseFile.dataByteCount(number, size: size)
    }
}
