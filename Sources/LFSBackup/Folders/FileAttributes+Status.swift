#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension FileAttributes {
    /// Those that the stamp of a file tells.
    ///
    /// - Parameter stamp: the text of a stamp that a ``FolderSource`` has made, also one of an earlier version, which
    ///   tells no permissions. Nil for any other text.
    public init?(stamp: String) {
        guard let stamp = FileStamp(stamp) else { return nil }
        self = stamp.attributes
    }

    init(_ status: stat) {
        #if canImport(Darwin)
        let modified = status.st_mtimespec
        #else
        let modified = status.st_mtim
        #endif
        self.init(
            seconds: modified.tv_sec, nanoseconds: modified.tv_nsec,
            permissions: Permissions(
                mode: UInt32(status.st_mode) & 0o7777, user: UInt32(status.st_uid), group: UInt32(status.st_gid)))
    }
}
