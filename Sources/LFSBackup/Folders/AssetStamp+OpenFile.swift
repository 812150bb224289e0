#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension AssetStamp {
    /// That of a file as ``FolderSource`` makes it, for an app that has the file open; nil for what is no regular file.
    ///
    /// - Parameter number: the file's descriptor.
    public init?(ofOpenFile number: Int32) {
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(status)
    }
}
