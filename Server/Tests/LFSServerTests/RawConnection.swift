import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A connection for one request. It returns the reply as it was sent, and decodes only the chunks.
///
/// One task at a time uses it.
final class RawConnection: @unchecked Sendable {
    // Unchecked: the calls block in sequence on a separate thread.
    struct Failure: Error {}

    private let connection: Int32
    private var waiting: [UInt8] = []
    private var isChunked = false
    /// The remaining bytes of a body that is not chunked.
    private var left = 0

    init(port: Int) throws {
        #if canImport(Glibc)
        connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        connection = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard isConnected else { throw Failure() }
    }

    deinit { close(connection) }

    /// Sends a request and returns the head of the reply.
    func head(_ method: String, path: String, headers: [String: String], _ body: Data) async throws -> String {
        try await blocking { [self] in
            var text = "\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \(body.count)\r\n"
            for (name, value) in headers { text += "\(name): \(value)\r\n" }
            var bytes = Array((text + "\r\n").utf8) + Array(body)
            // A server that refuses a request by its head does not read the rest.
            while !bytes.isEmpty {
                let count = Self.send(connection, bytes: bytes)
                guard count > 0 else { break }
                bytes.removeFirst(count)
            }
            while true {
                if let end = waiting.firstRange(of: Array("\r\n\r\n".utf8)) {
                    let head = String(decoding: waiting[..<end.lowerBound], as: UTF8.self)
                    waiting.removeFirst(end.upperBound)
                    isChunked = head.lowercased().contains("transfer-encoding: chunked")
                    let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    left = length.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
                    return head
                }
                guard try receive() else { throw Failure() }
            }
        }
    }

    /// Returns the next bytes of the body, or nil at its end.
    func piece() async throws -> [UInt8]? {
        try await blocking { [self] in
            while true {
                if !isChunked {
                    if left == 0 { return nil }
                    if !waiting.isEmpty {
                        defer { waiting = [] }
                        left -= min(left, waiting.count)
                        return waiting
                    }
                }
                if isChunked, let end = waiting.firstRange(of: [13, 10]),
                    let size = Int(String(decoding: waiting[..<end.lowerBound], as: UTF8.self), radix: 16)
                {
                    if size == 0 { return nil }
                    if waiting.count >= end.upperBound + size + 2 {
                        defer { waiting.removeFirst(end.upperBound + size + 2) }
                        return Array(waiting[end.upperBound..<end.upperBound + size])
                    }
                }
                guard try receive() else { return nil }
            }
        }
    }

    private static func send(_ connection: Int32, bytes: [UInt8]) -> Int {
        #if canImport(Glibc)
        Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        #else
        Darwin.send(connection, bytes, bytes.count, 0)
        #endif
    }

    private func receive() throws -> Bool {
        var room = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(connection, &room, room.count, 0)
        guard count >= 0 else { throw Failure() }
        waiting += room.prefix(count)
        return count > 0
    }
}

extension RunningServer {
    /// Returns the head of a reply and its body as it was sent.
    func raw(
        _ method: String, path: String, headers: [String: String], _ body: Data
    ) async throws -> (head: String, body: [UInt8]) {
        let connection = try RawConnection(port: port)
        let head = try await connection.head(method, path: path, headers: headers, body)
        var bytes: [UInt8] = []
        while let piece = try await connection.piece() { bytes += piece }
        return (head, bytes)
    }
}
