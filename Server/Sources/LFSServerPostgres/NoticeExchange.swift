import Dispatch
import LFSSyncServer

/// The exchange of notices between the servers of a database, over one connection with LISTEN and NOTIFY.
///
/// Notices about commits of this process are passed on at once. They are sent to the other servers together, at most
/// once in 20 milliseconds, in a transaction that writes nothing. NOTIFY in the transaction of each push would make
/// PostgreSQL commit one push after the other.
///
/// The connection is opened again after a failure. Everything may then have changed.
///
/// `@unchecked Sendable`: only the queue accesses the state.
final class NoticeExchange: @unchecked Sendable {
    /// The shortest time between two messages.
    private static let interval = DispatchTimeInterval.milliseconds(20)
    /// The maximum size of a message in bytes. PostgreSQL accepts less than 8,000.
    private static let messageLimit = 7_900
    /// The maximum number of notices about commits that wait for the connection.
    private static let pendingLimit = 1_000

    private let url: PostgresURL
    private let options: PostgresOptions
    private let receive: @Sendable ([ServerNotice]) -> Void
    private let queue = DispatchQueue(label: "lfs.postgres.notices")
    private var connection: PostgresConnection?
    private var source: (any DispatchSourceRead)?
    private var pending: [ServerNotice] = []
    private var isScheduled = false
    private var nextMessage = DispatchTime.now()
    private var failureCount = 0
    private var isClosed = false
    /// The tasks that this server runs alone. The connection holds an advisory lock for each.
    private var turns: Set<String> = []

    /// - Parameter receive: called on any thread with the notices of all servers.
    init(
        _ url: PostgresURL, options: PostgresOptions, receive: @escaping @Sendable ([ServerNotice]) -> Void
    ) {
        self.url = url
        self.options = options
        self.receive = receive
        queue.async { [self] in connect() }
    }

    deinit { source?.cancel() }

    /// Passes on the notices of a commit of this process, and sends them to the other servers.
    func post(_ notices: [ServerNotice]) {
        receive(notices)
        send(notices)
    }

    /// Sends notices to all servers. Notices about streams come back to this one.
    func send(_ notices: [ServerNotice]) {
        queue.async { [self] in
            add(notices)
            schedule()
        }
    }

    /// Sends the remaining notices, and closes the connection.
    func close() async {
        await onQueue { [self] in
            flush()
            isClosed = true
            disconnect()
        }
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }

    // MARK: Turns

    /// Takes the advisory lock of a task.
    ///
    /// - Returns: false if a server has it, also if it is this one.
    /// - Throws: `SQLFailure` if the connection is not open.
    func takeTurn(_ task: String) async throws -> Bool {
        try await onQueue { [self] in Result { try lock(task) } }.get()
    }

    /// Releases the advisory lock of a task. It has no effect if the connection has ended since, because the database
    /// has then released the lock.
    func endTurn(_ task: String) async {
        await onQueue { [self] in
            guard turns.remove(task) != nil, let connection else { return }
            do {
                try connection.unlock(task)
            } catch {
                reconnect(after: error)
            }
            readNotices()
        }
    }

    private func lock(_ task: String) throws -> Bool {
        guard let connection else {
            throw SQLFailure(.unavailable, message: "The connection for notices is not open.")
        }
        guard !turns.contains(task) else { return false }
        let isTaken: Bool
        do {
            isTaken = try connection.tryLock(task)
        } catch {
            reconnect(after: error)
            throw error
        }
        if isTaken { turns.insert(task) }
        // Messages may have arrived with the answer.
        readNotices()
        return isTaken
    }

    // MARK: Connection

    private func connect() {
        guard !isClosed, connection == nil else { return }
        do {
            let connection = try PostgresConnection(url, options: options)
            try connection.listen()
            self.connection = connection
            watch(connection)
            failureCount = 0
            receive([.missed(cause: nil)])
            schedule()
        } catch {
            reconnect(after: error)
        }
    }

    private func watch(_ connection: PostgresConnection) {
        let source = DispatchSource.makeReadSource(fileDescriptor: connection.descriptor, queue: queue)
        source.setEventHandler { [weak self] in self?.readNotices() }
        // The descriptor stays open until the source no longer uses it.
        source.setCancelHandler { withExtendedLifetime(connection) {} }
        self.source = source
        source.activate()
    }

    private func disconnect() {
        source?.cancel()
        source = nil
        connection = nil
        turns = []
    }

    /// Connects again after a pause, whose upper bound doubles up to ten seconds.
    private func reconnect(after error: any Error) {
        disconnect()
        guard !isClosed else { return }
        // What has changed until then is unknown, so all streams look at it now, and again after the next connection.
        receive([.missed(cause: "\(error)")])
        failureCount += 1
        let bound = min(100 << min(failureCount, 7), 10_000)
        queue.asyncAfter(deadline: .now() + .milliseconds(.random(in: bound / 2...bound))) { [weak self] in
            self?.connect()
        }
    }

    // MARK: Notices

    private func readNotices() {
        guard let connection else { return }
        do {
            pass(try connection.arrivedMessages(), of: connection)
        } catch {
            reconnect(after: error)
        }
    }

    /// Passes on the notices of other servers, and those of this one about streams.
    private func pass(_ messages: [PostgresConnection.Message], of connection: PostgresConnection) {
        let notices = messages.flatMap { message in
            let isOwn = message.process == connection.process
            return message.text.split(separator: "\n").compactMap { ServerNotice(line: $0) }
                .filter { !isOwn || $0.isAboutStream }
        }
        if !notices.isEmpty { receive(notices) }
    }

    private func add(_ notices: [ServerNotice]) {
        let known = Set(pending)
        pending += notices.filter { !known.contains($0) }
        let count = pending.count { !$0.isAboutStream }
        guard count > Self.pendingLimit else { return }
        pending = pending.filter(\.isAboutStream) + [.missed(cause: nil)]
    }

    private func schedule() {
        guard !isScheduled, !pending.isEmpty, connection != nil else { return }
        isScheduled = true
        queue.asyncAfter(deadline: max(nextMessage, .now())) { [weak self] in
            self?.isScheduled = false
            self?.flush()
        }
    }

    private func flush() {
        guard let connection, !pending.isEmpty else { return }
        nextMessage = .now() + Self.interval
        do {
            for message in Self.messages(pending) { try connection.send(message: message) }
            pending = []
            pass(try connection.arrivedMessages(), of: connection)
        } catch {
            reconnect(after: error)
        }
    }

    /// Returns the messages for notices. If their changes do not fit one message, it only says that anything may have
    /// changed.
    static func messages(_ notices: [ServerNotice]) -> [String] {
        let changes = notices.filter { !$0.isAboutStream }.map(\.line).joined(separator: "\n")
        var messages = [changes.utf8.count <= messageLimit ? changes : ServerNotice.missed(cause: nil).line]
        for line in notices.filter(\.isAboutStream).map(\.line) {
            let last = messages[messages.count - 1]
            if last.utf8.count + line.utf8.count < messageLimit {
                messages[messages.count - 1] = last.isEmpty ? line : "\(last)\n\(line)"
            } else {
                messages.append(line)
            }
        }
        return messages
    }
}

extension ServerNotice {
    fileprivate var isAboutStream: Bool {
        if case .stream = self { return true }
        return false
    }
}
