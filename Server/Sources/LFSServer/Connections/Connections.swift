public import Hummingbird
public import Logging
public import NIOCore
public import ServiceLifecycle
import Synchronization

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
        address?.ipAddress.flatMap(AddressRange.customer).map(Owner.address) ?? Owner.none
    }
}

extension Connections {
    /// Counts the connection of a request towards an account from now on, and no longer towards its address. Records
    /// the account for the log.
    ///
    /// Limits nothing on a server without ``Connections``.
    ///
    /// - Throws: `HTTPError` with 429 if the account has too many connections. The connection is closed after the
    ///   reply.
    public static func count(_ context: some RequestContext, for account: String) async throws {
        (context as? any RecordedContext)?.record.record(account: account)
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

extension Connections {
    /// Calls an action if the client of a request leaves before the end of the reply: if it closes the connection, or
    /// its own side of it.
    ///
    /// Has no effect on a server without ``Connections``.
    static func watchClient(of context: some RequestContext, _ action: @escaping @Sendable () -> Void) async {
        guard let channel = (context as? any ConnectionContext)?.channel else { return }
        do {
            try await channel.triggerUserOutboundEvent(ClientDeparture(action: action)).get()
        } catch {
            // The client has left already. Otherwise, no handler supports the event.
            if !channel.isActive { action() }
        }
    }
}

/// An event for the handler of a connection: the action to run if the client leaves during the reply.
struct ClientDeparture: Sendable {
    let action: @Sendable () -> Void
}

/// An event for the handler of a connection: a request has authenticated as an account.
struct ConnectionAccount: Sendable {
    let name: String
}

/// An error for an account with too many connections.
struct TooManyConnections: Error {}
