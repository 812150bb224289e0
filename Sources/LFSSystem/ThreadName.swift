import CLinux

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The name of a thread, which debuggers and `ps -T` show. Without one of its own it has that of the one that started
/// it.
package enum ThreadName {
    /// Names the calling thread. At most 15 bytes.
    ///
    /// Not by Foundation: in a thread that has just begun it may not know yet which thread that is, and sets nothing.
    package static func set(_ name: String) {
        #if canImport(Darwin)
        pthread_setname_np(name)
        #else
        _ = lfs_name_thread(name)
        #endif
    }
}
