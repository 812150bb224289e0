package import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An HTTP/1.1 server on loopback that answers according to a script, faults included.
///
/// Each connection has its own thread. The script runs once for each request on it. The mutex owns the state.
package final class ScriptedServer: Sendable {
    private struct State {
        var connections: [Int32] = []
        var running = 0
        var requests: [ServerRequest] = []
        var accepted = 0
        var isClosed = false
    }

    package let port: Int
    private let listener: Int32
    private let isRaw: Bool
    private let script: @Sendable (ServerRequest, ServerConnection) throws -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - receiveBuffer: the number of bytes that the system accepts before the script reads them, or nil for the
    ///     system's choice.
    ///   - isRaw: true to run the script once for each connection, as soon as its first byte has arrived.
    ///   - script: answers one request whose body has not been read yet. The connection ends when the script throws or
    ///     after it called ``ServerConnection/hangUp()``.
    package init(
        receiveBuffer: Int32? = nil, isRaw: Bool = false,
        _ script: @escaping @Sendable (ServerRequest, ServerConnection) throws -> Void
    ) throws {
        self.isRaw = isRaw
        self.script = script
        listener = SocketCalls.makeStream()
        if var receiveBuffer {
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(listener, raw, length) != 0 || listen(listener, 128) != 0
                    || getsockname(listener, raw, &length) != 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard !failed else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        Thread.detachNewThread { self.accept() }
    }

    package var url: URL { URL(string: "http://127.0.0.1:\(port)").unsafelyUnwrapped }

    /// The requests so far, in order.
    package var requests: [ServerRequest] { state.withLock(\.requests) }
    /// The number of connections so far.
    package var connectionCount: Int { state.withLock(\.accepted) }

    /// Ends all connections and accepts no more.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            // The lock is held because a descriptor that is closed at the same time may already belong to another
            // connection.
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while true {
            let raw = SocketCalls.nextConnection(of: listener)
            guard raw >= 0 else { break }
            let takes = state.withLock { state in
                guard !state.isClosed else { return false }
                state.accepted += 1
                state.connections.append(raw)
                return true
            }
            if takes { Thread.detachNewThread { self.serve(raw) } } else { SocketCalls.end(raw) }
        }
        SocketCalls.end(listener)
    }

    private func serve(_ raw: Int32) {
        let connection = ServerConnection(raw)
        while let request = isRaw ? connection.anything() : connection.nextRequest() {
            state.withLock { $0.requests.append(request) }
            do { try script(request, connection) } catch { break }
            if connection.isOver || isRaw { break }
        }
        state.withLock { state in
            state.connections.removeAll { $0 == raw }
            SocketCalls.end(raw)
        }
    }
}

/// The head of a request.
package struct ServerRequest: Sendable {
    package let method: String
    /// The path and the query.
    package let target: String
    /// The headers, with lowercase names.
    package let headers: [String: String]

    package var byteCount: Int { headers["content-length"].flatMap { Int($0) } ?? 0 }
}
