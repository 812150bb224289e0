#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls on paths of the caller, outside of LFS's own directories.
package enum PathCalls {
    package static func remove(_ path: String) throws(SystemError) {
        try checked("unlink", path) { unlink(path) }
    }
}
