public import Hummingbird
public import Logging
public import NIOCore
public import ServiceLifecycle
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The open connections of a server. It limits the number of connections of each address and each account. Its
/// handlers close connections whose clients are too slow.
///
/// ```swift
/// let connections = Connections()
/// let server = HTTPServerBuilder.http1(configuration: .init(additionalChannelHandlers: connections.handler()))
/// ```
///
/// The mutex owns the state.
public final class Connections: Sendable {
    /// The address or account that a connection counts towards.
    private enum Owner: Hashable {
        case address([UInt8])
        case account(String)
        /// A socket without an address, or a connection of a server that does not limit addresses.
        case none
    }

    private struct Entry {
        let channel: any Channel
        var owner: Owner
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var counts: [Owner: Int] = [:]
        var isEnding = false
        /// The time of the last log message about an address with too many connections.
        var reported: NIODeadline?

        mutating func count(_ owner: Owner, by change: Int) {
            guard owner != .none else { return }
            let count = (counts[owner] ?? 0) + change
            counts[owner] = count > 0 ? count : nil
        }
    }

    let limits: ConnectionLimits
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates an empty set of connections.
    ///
    /// - Parameters:
    ///   - limits: the limits of each connection, and of the number per address and account.
    ///   - logger: receives a message about an address with too many connections, at most once per minute.
    public init(_ limits: ConnectionLimits = ConnectionLimits(), logger: Logger = Logger(label: "lfs.connections")) {
        self.limits = limits
        self.logger = logger
    }

    /// Returns a handler for a new connection. Add it to the `additionalChannelHandlers` of the server's HTTP channel.
    public func handler() -> any RemovableChannelHandler { ConnectionHandler(self) }

    /// The number of open connections.
    public var count: Int { state.withLock(\.entries.count) }

    /// Closes all connections. Later connections are closed at once.
    public func closeAll() {
        let channels = state.withLock { state in
            state.isEnding = true
            return state.entries.values.map(\.channel)
        }
        for channel in channels { channel.close(mode: .all, promise: nil) }
    }

    /// Runs a server. After the start of its graceful shutdown, running requests have some time to finish. Then the
    /// connections are closed.
    ///
    /// - Parameters:
    ///   - server: the server of these connections.
    ///   - patience: the time for running requests after the start of the shutdown.
    /// - Throws: the error of the server.
    public func run(_ server: some Service, closingAfter patience: Duration) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            group.addTask { [self] in
                do {
                    try await gracefulShutdown()
                    try await Task.sleep(for: patience)
                } catch is CancellationError {
                    // The server has ended, or has to end at once.
                }
                closeAll()
            }
            _ = try await group.next()
            group.cancelAll()
        }
    }

    // MARK: Functions for the handlers

    /// Counts a new connection towards its address.
    ///
    /// - Returns: false if the address has too many connections, or after ``closeAll()``.
    func admit(_ channel: any Channel) -> Bool {
        let owner = limits.connectionsPerAddress == nil ? Owner.none : Self.owner(channel.remoteAddress)
        let (isAdmitted, isReported) = state.withLock { state in
            guard !state.isEnding else { return (false, false) }
            guard state.entries[ObjectIdentifier(channel)] == nil else { return (true, false) }
            guard owner == .none || state.counts[owner] ?? 0 < limits.connectionsPerAddress ?? .max else {
                let isReported = state.reported.map { NIODeadline.now() - $0 >= .minutes(1) } ?? true
                if isReported { state.reported = .now() }
                return (false, isReported)
            }
            state.entries[ObjectIdentifier(channel)] = Entry(channel: channel, owner: owner)
            state.count(owner, by: 1)
            return (true, false)
        }
        if isReported {
            logger.notice(
                "An address has too many connections without an account. Further ones are closed.",
                metadata: ["peer": "\(channel.remoteAddress?.ipAddress ?? "")"])
        }
        return isAdmitted
    }

    /// Counts a connection towards an account, and no longer towards its address or another account.
    ///
    /// - Returns: false if the account has too many connections.
    func assign(_ channel: any Channel, to account: String) -> Bool {
        let owner = Owner.account(account)
        return state.withLock { state in
            guard let entry = state.entries[ObjectIdentifier(channel)], entry.owner != owner else { return true }
            guard state.counts[owner] ?? 0 < limits.connectionsPerAccount else { return false }
            state.count(entry.owner, by: -1)
            state.count(owner, by: 1)
            state.entries[ObjectIdentifier(channel)]?.owner = owner
            return true
        }
    }

    func remove(_ channel: any Channel) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: ObjectIdentifier(channel)) else { return }
            state.count(entry.owner, by: -1)
        }
    }

    private static func owner(_ address: SocketAddress?) -> Owner {
        guard let text = address?.ipAddress else { return .none }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return .address(Array(bytes.prefix(4))) }
        guard inet_pton(AF_INET6, text, &bytes) == 1 else { return .none }
        // Providers assign a /64 or more to a customer. The prefix ::ffff:0:0/96 maps IPv4 addresses.
        let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
        return .address(Array(isMapped ? bytes.dropFirst(12) : bytes.prefix(8)))
    }
}

extension Connections {
    /// Counts the connection of a request towards an account from now on, and no longer towards its address.
    ///
    /// Has no effect on a server without ``Connections``.
    ///
    /// - Throws: `HTTPError` with 429 if the account has too many connections. The connection is closed after the
    ///   reply.
    public static func count(_ context: some RequestContext, for account: String) async throws {
        guard let channel = (context as? any ConnectionContext)?.channel else { return }
        do {
            try await channel.triggerUserOutboundEvent(ConnectionAccount(name: account)).get()
        } catch is TooManyConnections {
            throw HTTPError(.tooManyRequests, message: "This account has too many connections.")
        } catch {
            // No handler supports the event, or the connection is closed.
        }
    }
}

/// An event for the handler of a connection: a request has authenticated as an account.
struct ConnectionAccount: Sendable {
    let name: String
}

/// An error for an account with too many connections.
struct TooManyConnections: Error {}
