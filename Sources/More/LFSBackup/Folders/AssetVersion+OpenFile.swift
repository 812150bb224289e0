#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension AssetVersion {
    /// Creates the stamp of a file as ``FolderSource`` does, for an app that has the file open. Nil if it is not a
    /// regular file.
    ///
    /// - Parameter number: the file's descriptor.
    public init?(ofOpenFile number: Int32) {
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(status)
    }
}
