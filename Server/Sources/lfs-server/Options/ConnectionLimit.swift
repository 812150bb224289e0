import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The maximum number of concurrent connections. Further connections wait in the system's queue.
///
/// Each connection may need two descriptors of the process: the socket, and a file or a connection to the store.
struct ConnectionLimit: Hashable {
    /// The maximum number of connections.
    let count: Int
    /// The number of descriptors that the process needs.
    let descriptors: UInt64

    /// The default, if the process may have enough descriptors.
    static let usual = 4_000
    /// A reserve for databases, the store and logs.
    private static let others: UInt64 = 256

    /// - Parameters:
    ///   - wanted: the requested number, or nil for the default or the number that fits.
    ///   - allowed: the maximum number of descriptors of the process.
    /// - Throws: `ValidationError` if the requested number does not fit.
    init(_ wanted: Int?, allowed: UInt64) throws {
        let fitting = Int(clamping: allowed > Self.others ? (allowed - Self.others) / 2 : 0)
        count = wanted ?? min(Self.usual, fitting)
        descriptors = UInt64(count) * 2 + Self.others
        guard count > 0, descriptors <= allowed else {
            let who = wanted.map { "--connections \($0)" } ?? "The server"
            throw ValidationError(
                "\(who) needs \(descriptors) file descriptors, and the process may have \(allowed). "
                    + "Raise the limit ('ulimit -Hn', LimitNOFILE of systemd)"
                    + (fitting > 0 && wanted != nil ? ", or use at most --connections \(fitting)." : "."))
        }
    }

    /// Raises the descriptor limit of this process to what the connections need.
    ///
    /// - Throws: `ValidationError`.
    static func allow(_ wanted: Int?) throws -> ConnectionLimit {
        var limit = rlimit()
        guard getrlimit(descriptorLimit, &limit) == 0 else {
            throw ValidationError("The limit of file descriptors of the process cannot be read.")
        }
        let connections = try ConnectionLimit(wanted, allowed: UInt64(limit.rlim_max))
        guard limit.rlim_cur < connections.descriptors else { return connections }
        limit.rlim_cur = rlim_t(connections.descriptors)
        guard setrlimit(descriptorLimit, &limit) == 0 else {
            throw ValidationError(
                "The process may not open \(connections.descriptors) file descriptors. Raise 'ulimit -n', or lower "
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
