import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// How many connections the server takes at once. More of them wait in the system's queue.
///
/// Each may need two of the process's descriptors: the socket, and a file or a connection to the store.
struct ConnectionLimit: Hashable {
    /// Of the server.
    let count: Int
    /// What the process has to be allowed.
    let descriptors: UInt64

    /// Where nobody has said, and so many fit.
    static let usual = 4_000
    /// For databases, the store, logs, and what else there is.
    private static let others: UInt64 = 256

    /// - Parameters:
    ///   - wanted: nil for as many as usual, or as fit.
    ///   - allowed: descriptors that the process may have at the most.
    /// - Throws: `ValidationError` when those that are wanted do not fit.
    init(_ wanted: Int?, allowed: UInt64) throws {
        let fitting = Int(clamping: allowed > Self.others ? (allowed - Self.others) / 2 : 0)
        count = wanted ?? min(Self.usual, fitting)
        descriptors = UInt64(count) * 2 + Self.others
        guard count > 0, descriptors <= allowed else {
            let who = wanted.map { "--connections \($0)" } ?? "The server"
            throw ValidationError(
                "\(who) needs \(descriptors) file descriptors, and the process may have \(allowed): "
                    + "raise the limit ('ulimit -Hn', LimitNOFILE of systemd)"
                    + (fitting > 0 && wanted != nil ? ", or take at most --connections \(fitting)." : "."))
        }
    }

    /// Lets this process have as many descriptors as the connections need.
    ///
    /// - Throws: `ValidationError`.
    static func allow(_ wanted: Int?) throws -> ConnectionLimit {
        var limit = rlimit()
        guard getrlimit(descriptorLimit, &limit) == 0 else {
            throw ValidationError("The system does not say how many descriptors the process may have.")
        }
        let connections = try ConnectionLimit(wanted, allowed: UInt64(limit.rlim_max))
        guard limit.rlim_cur < connections.descriptors else { return connections }
        limit.rlim_cur = rlim_t(connections.descriptors)
        guard setrlimit(descriptorLimit, &limit) == 0 else {
            throw ValidationError(
                "The process may not have \(connections.descriptors) descriptors: raise 'ulimit -n', or take fewer "
                    + "--connections.")
        }
        return connections
    }

    #if canImport(Glibc)
    private static let descriptorLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let descriptorLimit = RLIMIT_NOFILE
    #endif
}
