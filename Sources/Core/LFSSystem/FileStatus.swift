#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The result of `fstat` for a file, in Swift types.
package struct FileStatus: Sendable, Hashable {
    package let byteCount: Int64
    package let device: UInt64
    package let inode: UInt64
    package let linkCount: Int
    package let isRegularFile: Bool
    package let isDirectory: Bool
    /// The time of the last change to the content, in nanoseconds since 1970. File systems can store times before 1677
    /// and after 2262, which do not fit into 64 bits.
    package let modified: Nanoseconds
    /// The time of the last change to the content or metadata, in nanoseconds since 1970. No program can set it back.
    package let changed: Nanoseconds
    package let permissions: UInt32
    /// The id of the user who owns the file.
    package let owner: UInt32

    /// The id of the user whose permissions this process has.
    package static var currentUser: UInt32 { UInt32(geteuid()) }

    /// True if this user owns the file, or if its file system is known to store no permissions. Such a file system
    /// reports the owner that its mount options name.
    package var isOurs: Bool { owner == Self.currentUser || MissingFeature.modes.isKnown(on: device) }

    /// True for a regular file of this user with a single name. No other user can write to it through a second name.
    package var isSolelyOurs: Bool { isRegularFile && linkCount == 1 && isOurs }

    /// Returns true if this is the same file and nothing was written to it in between. A new link to the file changes
    /// its status, but not its content.
    package func hasContent(of earlier: FileStatus) -> Bool {
        inode == earlier.inode && device == earlier.device && byteCount == earlier.byteCount
            && modified == earlier.modified
    }

    /// Reads the status of a path and follows symbolic links.
    package init(following path: String) throws(SystemError) {
        var raw = stat()
        try checked("stat", path) { stat(path, &raw) }
        self.init(raw)
    }

    /// Reads the status of a path by its exact bytes, without following a symbolic link at its end. Returns nil if
    /// nothing is at the path.
    init?(ofLinkAt path: [UInt8]) throws(SystemError) {
        let shown = String(decoding: path, as: UTF8.self)
        var raw = stat()
        do throws(SystemError) {
            try checked("stat", shown) { lstat(path.map(CChar.init(bitPattern:)) + [0], &raw) }
        } catch {
            if error.isMissing { return nil }
            throw error
        }
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
