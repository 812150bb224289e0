import CLinux

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The name of a thread, as shown by debuggers and `ps -T`. A thread without a name has that of the thread which
/// started it.
package enum ThreadName {
    /// Names the calling thread. The name has at most 15 bytes.
    ///
    /// It does not use Foundation, which may not yet know a thread that has just started and then sets no name.
    package static func set(_ name: String) {
        #if canImport(Darwin)
        pthread_setname_np(name)
        #else
        _ = lfs_name_thread(name)
        #endif
    }
}
