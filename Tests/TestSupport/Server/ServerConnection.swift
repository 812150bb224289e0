import Foundation

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A connection of a ``ScriptedServer``. Only the connection's thread uses it.
package final class ServerConnection {
    private let raw: Int32
    private var received: [UInt8] = []
    package private(set) var isOver = false

    init(_ raw: Int32) {
        self.raw = raw
    }

    // MARK: Reading

    /// Returns the head of the next request, or nil if the client has closed the connection.
    func nextRequest() -> ServerRequest? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
                received.removeSubrange(..<range.upperBound)
                return Self.parse(head)
            }
            guard fill() else { return nil }
        }
    }

    /// Returns an empty request once bytes have arrived, or nil if the client has closed the connection.
    func anything() -> ServerRequest? {
        received.isEmpty && !fill() ? nil : ServerRequest(method: "", target: "", headers: [:])
    }

    /// Reads this number of bytes of the body, or fewer if the client stops earlier.
    @discardableResult package func readBody(_ count: Int) -> [UInt8] {
        while received.count < count, fill() {}
        let bytes = Array(received.prefix(count))
        received.removeFirst(bytes.count)
        return bytes
    }

    /// Reads the whole body of a request.
    @discardableResult package func readBody(of request: ServerRequest) throws -> [UInt8] {
        if request.headers["expect"] != nil { try send("HTTP/1.1 100 Continue\r\n\r\n") }
        return readBody(request.byteCount)
    }

    /// Reads the whole body of a request in small pieces.
    ///
    /// - Parameter onPiece: receives the number of bytes of each piece.
    /// - Returns: the number of bytes that arrived before the client stopped.
    package func readBody(of request: ServerRequest, pieceSize: Int, onPiece: (Int) -> Void) throws -> Int {
        if request.headers["expect"] != nil { try send("HTTP/1.1 100 Continue\r\n\r\n") }
        var count = received.count
        received = []
        onPiece(count)
        var buffer = [UInt8](repeating: 0, count: pieceSize)
        while count < request.byteCount {
            let more = recv(raw, &buffer, min(buffer.count, request.byteCount - count), 0)
            guard more > 0 else { return count }
            count += more
            onPiece(more)
        }
        return count
    }

    /// Reads and discards bytes until the client closes the connection.
    package func hang() {
        while fill() { received = [] }
        isOver = true
    }

    /// Returns when the client or the server has closed the connection. Reads nothing until then. The end of the client
    /// is not noticed while unread bytes block it.
    package func waitForEnd() {
        // POLLRDHUP reports that the other side has closed.
        var end = pollfd(fd: raw, events: 0x2000, revents: 0)
        while poll(&end, 1, -1) < 0, errno == EINTR {}
        isOver = true
    }

    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(raw, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        received.append(contentsOf: buffer.prefix(count))
        return true
    }

    private static func parse(_ head: String) -> ServerRequest {
        let lines = head.components(separatedBy: "\r\n")
        let first = lines[0].split(separator: " ")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        return ServerRequest(
            method: first.first.map(String.init) ?? "", target: first.dropFirst().first.map(String.init) ?? "",
            headers: headers)
    }

    // MARK: Answering

    /// Sends text unchanged.
    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends bytes unchanged.
    package func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { SocketCalls.write($0, to: raw) }
            guard count > 0 else { throw POSIXError(.EPIPE) }
            sent += count
        }
    }

    /// Sends a whole reply with its length.
    package func reply(_ status: Int, headers: [String: String] = [:], _ body: String = "") throws {
        var text = "HTTP/1.1 \(status) Text\r\nContent-Length: \(body.utf8.count)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        try send(text + "\r\n" + body)
    }

    /// Ends the connection after the bytes that were sent.
    package func hangUp() {
        shutdown(raw, Int32(SHUT_WR))
        isOver = true
    }

    /// Aborts the connection, which the client sees as a reset.
    package func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        isOver = true
    }
}
