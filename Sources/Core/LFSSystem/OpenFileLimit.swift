import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The limit on open files of this process: getrlimit(2), `RLIMIT_NOFILE`.
package enum OpenFileLimit {
    /// The largest limit that a program needs. A higher limit slows down tools that check every possible descriptor.
    private static let largest: rlim_t = 65_536
    /// The largest limit that every macOS accepts, `OPEN_MAX`.
    private static let largestOnMacOS: rlim_t = 10_240
    private static let smallest = 16

    /// The number of files that this process may have open now.
    package static var current: Int { max(Int(clamping: limits().rlim_cur), smallest) }

    /// The number of files that one kind of work may hold open, at least 1. Up to four kinds run at the same time:
    /// reading originals, writing copies, uploads and downloads. Each waits for a free descriptor while it holds
    /// others, so together they must leave some.
    package static var share: Int { max((current - reserve - baseCount) / 4, 1) }

    /// The files that a process has open anyway: its standard streams, folders, locks, and SQLite's files for each
    /// reader.
    private static let baseCount = 32
    /// The descriptors that are left to the system's libraries. For example, libdispatch opens a file every second
    /// while its threads are busy, and ends the process if it cannot.
    private static let reserve = 8
    /// The limit when it was read last, 0 before.
    private static let known = Atomic<Int>(0)

    /// Returns true if a new descriptor is one of those that are left to the system's libraries. The system always
    /// gives out the lowest free number.
    static func isReserved(_ number: Int32) -> Bool {
        if Int(number) < known.load(ordering: .relaxed) - reserve { return false }
        // Other code of the process may have changed the limit.
        let limit = current
        known.store(limit, ordering: .relaxed)
        return Int(number) >= limit - reserve
    }

    /// Raises the soft limit to the hard limit, but at most to 65,536. Only programs call it. A library must not change
    /// the limits of its process.
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
