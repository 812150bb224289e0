import CLinux

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The dump of the process's memory that the system writes after a crash.
package enum CoreDump {
    /// Disables core files for this process with setrlimit(2). On Linux it also sets `PR_SET_DUMPABLE` with prctl(2),
    /// so that only the administrator can read the process's memory. Neither call can fail, because both only lower a
    /// limit.
    package static func disable() {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Darwin)
        setrlimit(RLIMIT_CORE, &limit)
        #else
        #if canImport(Glibc)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        #else
        setrlimit(RLIMIT_CORE, &limit)
        #endif
        _ = lfs_forbid_dumps()
        #endif
    }
}
