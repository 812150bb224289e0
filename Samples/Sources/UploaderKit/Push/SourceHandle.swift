import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Opens files by their exact bytes, which a URL cannot carry.
enum SourceHandle {
    /// The open file and what it looks like, or why it cannot be opened.
    static func open(
        _ path: FilePath, followsLink: Bool
    ) -> Result<(handle: FileHandle, stamp: FileStamp), UploaderError> {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW)
        let number = path.withCString { systemOpen($0, flags) }
        guard number >= 0 else { return .failure(UploaderError(String(cString: strerror(errno)))) }
        let handle = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .failure(UploaderError("not a regular file any more"))
        }
        return .success((handle, FileStamp(status)))
    }

    private static func systemOpen(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.open(path, flags)
        #elseif canImport(Musl)
        Musl.open(path, flags)
        #else
        Darwin.open(path, flags)
        #endif
    }
}
