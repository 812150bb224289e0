#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What `fstat` says of a file, in Swift's types.
package struct FileStatus: Sendable, Hashable {
    package let byteCount: Int64
    package let device: UInt64
    package let inode: UInt64
    package let linkCount: Int
    package let isRegularFile: Bool
    package let isDirectory: Bool
    /// Time of the last change of content, in nanoseconds since 1970. File systems hold times before 1677 and after
    /// 2262, which do not fit into 64 bits.
    package let modified: Nanoseconds
    /// Time of the last change of content or metadata, in nanoseconds since 1970. No program can set it back.
    package let changed: Nanoseconds
    package let permissions: UInt32
    /// The id of the user that it belongs to.
    package let owner: UInt32

    /// The user whose rights this process has, by its id.
    package static var currentUser: UInt32 { UInt32(geteuid()) }

    /// Whether it is a file of this user that has this one name: nobody else can write to it under another.
    package var isSolelyOurs: Bool { isRegularFile && linkCount == 1 && owner == Self.currentUser }

    /// Whether it is the same file, with nothing written to it since. It may have got another name meanwhile, which
    /// changes its status and not its content.
    package func hasContent(of earlier: FileStatus) -> Bool {
        inode == earlier.inode && device == earlier.device && byteCount == earlier.byteCount
            && modified == earlier.modified
    }

    /// What a path leads to, links followed.
    package init(following path: String) throws(SystemError) {
        var raw = stat()
        try checked("stat", path) { stat(path, &raw) }
        self.init(raw)
    }

    init(_ raw: stat) {
        byteCount = Int64(raw.st_size)
        device = UInt64(truncatingIfNeeded: raw.st_dev)
        inode = UInt64(raw.st_ino)
        linkCount = Int(raw.st_nlink)
        isRegularFile = raw.st_mode & S_IFMT == S_IFREG
        isDirectory = raw.st_mode & S_IFMT == S_IFDIR
        permissions = UInt32(raw.st_mode & 0o7777)
        owner = UInt32(raw.st_uid)
        #if canImport(Darwin)
        modified = Self.nanoseconds(raw.st_mtimespec)
        changed = Self.nanoseconds(raw.st_ctimespec)
        #else
        modified = Self.nanoseconds(raw.st_mtim)
        changed = Self.nanoseconds(raw.st_ctim)
        #endif
    }

    private static func nanoseconds(_ time: timespec) -> Nanoseconds {
        Nanoseconds(Int128(time.tv_sec) * 1_000_000_000 + Int128(time.tv_nsec))
    }
}
