#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What shows that a file has not changed without reading it: size, time of the last change of its content, and time
/// of the last change of anything, which no program can set back.
struct FileStamp: Hashable, Sendable {
    let byteCount: Int64
    let text: String

    init(_ status: stat) {
        byteCount = Int64(status.st_size)
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        text = "\(byteCount):\(modified.tv_sec).\(modified.tv_nsec):\(changed.tv_sec).\(changed.tv_nsec)"
    }
}
