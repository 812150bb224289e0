#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls on a caller's own paths, which belong to no directory of ours.
package enum PathCalls {
    package static func remove(_ path: String) throws(SystemError) {
        try checked("unlink", path) { unlink(path) }
    }
}
