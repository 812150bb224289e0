#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension FileAttributes {
    /// Reads the attributes from the stamp of a file. Nil for a text in another format.
    ///
    /// - Parameter stamp: the text of a stamp by ``FolderSource``. Stamps of earlier versions contain no permissions.
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
