import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A check for special files: pipes, sockets and devices.
enum SpecialFile {
    static let reason = "it is not a file or folder"

    /// - Parameter isNamed: true if the path is on the command line, where links are followed.
    static func isOne(_ path: FilePath, isNamed: Bool) -> Bool {
        var status = stat()
        guard path.withCString({ isNamed ? stat($0, &status) : lstat($0, &status) }) == 0 else { return false }
        return ![S_IFREG, S_IFDIR, S_IFLNK].contains(status.st_mode & S_IFMT)
    }
}
