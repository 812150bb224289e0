#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls on a caller's own paths, which belong to no directory of ours.
package enum PathCalls {
    package static func rename(_ path: String, to newPath: String) throws(SystemError) {
        try checked("rename", path) { systemRename(path, newPath) }
    }

    package static func remove(_ path: String) throws(SystemError) {
        try checked("unlink", path) { unlink(path) }
    }

    private static func systemRename(_ path: String, _ newPath: String) -> Int32 {
        #if canImport(Glibc)
        Glibc.rename(path, newPath)
        #elseif canImport(Musl)
        Musl.rename(path, newPath)
        #else
        Darwin.rename(path, newPath)
        #endif
    }
}
