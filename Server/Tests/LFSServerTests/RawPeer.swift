import Dispatch
import Foundation

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A TCP client that sends and reads only on request of a test.
///
/// One task at a time owns it. Blocking calls run on a global dispatch queue.
final class RawPeer: Sendable {
    struct Failure: Error {}

    /// The state of a connection after sending.
    enum End: Equatable, Sendable {
        /// The server has closed the connection.
        case closed
        /// The connection still accepts bytes.
        case open
    }

    private let connection: Int32

    /// Connects to a local port.
    ///
    /// - Parameter receiveByteCount: the size of the system's buffer for received bytes, or nil for the default size.
    init(port: Int, receiveByteCount: Int32? = nil) throws {
        #if canImport(Glibc)
        connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        connection = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        if var count = receiveByteCount {
            setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &count, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Failure() }
    }

    deinit { close(connection) }

    /// Sends a text.
    ///
    /// - Returns: true if the connection accepted all bytes.
    @discardableResult func send(_ text: String) async -> Bool {
        await blocking { self.sendAll(Array(text.utf8)) }
    }

    /// Sends up to 15,000 pieces with a pause after each. With the default pause, this takes five minutes.
    ///
    /// - Parameters:
    ///   - start: the first bytes, which are sent in pieces of the same size.
    ///   - pieceByteCount: the size of a piece.
    ///   - pause: the pause in milliseconds.
    /// - Returns: the state of the connection, and the text that the server sent.
    func trickle(
        _ start: String, pieceByteCount: Int = 1, pause: Int32 = 20
    ) async -> (end: End, received: String) {
        await blocking {
            var rest = Array(start.utf8)[...]
            var received = ""
            let piece = [UInt8](repeating: UInt8(ascii: "a"), count: pieceByteCount)
            for _ in 0..<15_000 {
                let next = rest.prefix(pieceByteCount)
                rest = rest.dropFirst(next.count)
                guard self.sendAll(next.isEmpty ? piece : Array(next)) else {
                    // The reply may have arrived since the last look.
                    while let text = self.receive() { received += text }
                    return (.closed, received)
                }
                // Returns early if the server sends bytes or closes the connection.
                guard self.isReadable(within: pause) else { continue }
                guard let text = self.receive() else { return (.closed, received) }
                received += text
            }
            return (.open, received)
        }
    }

    /// Closes the sending side of the connection.
    func finish() { shutdown(connection, Int32(SHUT_WR)) }

    /// Reads until the server closes the connection.
    func readToEnd() async -> String {
        await blocking {
            var received = ""
            while let text = self.receive() { received += text }
            return received
        }
    }

    /// Reads once. Returns nil if the server has closed the connection.
    func read() async -> String? { await blocking { self.receive() } }

    private func isReadable(within milliseconds: Int32) -> Bool {
        var watch = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        return poll(&watch, 1, milliseconds) > 0
    }

    private func receive() -> String? {
        var reply = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(connection, &reply, reply.count, 0)
        return count > 0 ? String(decoding: reply.prefix(count), as: UTF8.self) : nil
    }

    private func sendAll(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { buffer in
                #if canImport(Glibc)
                Glibc.send(connection, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                #else
                Darwin.send(connection, buffer.baseAddress, buffer.count, 0)
                #endif
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { done in DispatchQueue.global().async { done.resume(returning: body()) } }
    }
}
