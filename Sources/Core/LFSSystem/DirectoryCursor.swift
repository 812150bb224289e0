#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A position in a directory's listing, so that a folder with a million files is read in pages.
package final class DirectoryCursor: Sendable {
    #if canImport(Darwin)
    private typealias Stream = UnsafeMutablePointer<DIR>
    #else
    private typealias Stream = OpaquePointer
    #endif

    // A single task reads it, so only one thread at a time uses it.
    nonisolated(unsafe) private let stream: Stream
    private let path: String

    /// Takes ownership of an open descriptor of a directory.
    init(owning descriptor: Int32, path: String) throws(SystemError) {
        guard let stream = fdopendir(descriptor) else {
            let code = errno
            close(descriptor)
            throw SystemError(call: "opendir", path: path, errno: code)
        }
        self.stream = stream
        self.path = path
    }

    deinit { closedir(stream) }

    /// Returns the next names as raw bytes, in no particular order, without `.` and `..`. Returns an empty array at the
    /// end. Blocks the thread.
    package func next(limit: Int) throws(SystemError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        while names.count < limit {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError(call: "readdir", path: path, errno: errno) }
                break
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
        return names
    }
}
