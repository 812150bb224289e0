import CPostgres
import LFSSyncServer

/// The notices of a connection: those that its transactions collect, and those that arrive from other connections.
extension PostgresConnection {
    /// A message of a connection that listens.
    struct Message {
        /// The process of the database server that belongs to the sender.
        let process: Int32
        let text: String
    }

    /// The socket, which can be read when a message has arrived or the connection has ended.
    var descriptor: Int32 { PQsocket(connection) }

    /// Starts to receive messages.
    func listen() throws { try query("SELECT sync_listen()", arguments: []) { _ in true } }

    /// Sends a message to all connections that listen, also to this one.
    func send(message: String) throws {
        try query("SELECT sync_notify(?1)", arguments: [.text(message)]) { _ in true }
    }

    /// Takes an advisory lock, which lasts until ``unlock(_:)`` or the end of the connection.
    ///
    /// - Returns: false if another connection has it.
    func tryLock(_ name: String) throws -> Bool {
        var isTaken = false
        try query("SELECT pg_try_advisory_lock(\(Self.lock))", arguments: [.text(name)]) { row in
            isTaken = try row.integer(0) == 1
            return true
        }
        return isTaken
    }

    func unlock(_ name: String) throws {
        try query("SELECT pg_advisory_unlock(\(Self.lock))", arguments: [.text(name)]) { _ in true }
    }

    /// The number of the lock with a name. Each schema has its own.
    private static let lock = "hashtext('lfs task ' || ?1 || ' ' || current_schema())"

    /// Returns the messages that have arrived.
    ///
    /// - Throws: `SQLFailure` if the connection has ended.
    func arrivedMessages() throws -> [Message] {
        guard PQconsumeInput(connection) == 1, !isBroken else {
            throw PostgresFailure(unreachable: connection).failure
        }
        var messages: [Message] = []
        while let notification = PQnotifies(connection) {
            messages.append(
                Message(process: notification.pointee.be_pid, text: String(cString: notification.pointee.extra)))
            PQfreemem(notification)
        }
        return messages
    }
}
