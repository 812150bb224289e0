import CLinux

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What the system writes of this process's memory when it crashes.
package enum CoreDump {
    /// No core files from now on: setrlimit(2). On Linux nobody but the administrator can read the process's memory
    /// either: prctl(2), `PR_SET_DUMPABLE`. Neither can fail, as both lower what is allowed.
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
