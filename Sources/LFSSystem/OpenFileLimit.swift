#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The limit on the open files of this process: getrlimit(2), `RLIMIT_NOFILE`.
package enum OpenFileLimit {
    /// The largest limit that a program needs. Tools that look at every possible descriptor get slow with more.
    private static let largest: rlim_t = 65_536
    /// The largest limit that every macOS accepts, `OPEN_MAX`.
    private static let largestOnMacOS: rlim_t = 10_240
    private static let smallest = 16

    /// How many files this process may have open now.
    package static var current: Int { max(Int(clamping: limits().rlim_cur), smallest) }

    /// How many files one batch may hold open. The rest is for SQLite, for connections and for other batches.
    package static var quarter: Int { current / 4 }

    /// Raises the soft limit to the hard limit, at most to 65,536. For programs: a library leaves its process's limits
    /// alone.
    package static func raise() {
        let now = limits()
        for wanted in [largest, largestOnMacOS] {
            var raised = now
            raised.rlim_cur = min(now.rlim_max, wanted)
            guard raised.rlim_cur > now.rlim_cur else { return }
            if setrlimit(resource, &raised) == 0 { return }
        }
    }

    private static func limits() -> rlimit {
        var limits = rlimit()
        getrlimit(resource, &limits)
        return limits
    }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}
