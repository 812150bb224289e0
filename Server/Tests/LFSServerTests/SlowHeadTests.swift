import Dispatch
import Foundation
import Hummingbird
import HummingbirdCore
import Testing

@testable import lfs_server

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("A client that sends the head of its request byte by byte", .timeLimit(.minutes(10)))
struct SlowHeadTests {
    /// How such a connection ended.
    private enum End: Equatable {
        /// The server has closed it.
        case closed
        /// It takes bytes still.
        case open
    }

    /// Sends a head that has no end, a byte each 20 ms, for ten times as long as the server waits.
    private static func trickle(_ start: String, to port: Int) throws -> End {
        #if canImport(Glibc)
        let stream = Int32(SOCK_STREAM.rawValue)
        #else
        let stream = SOCK_STREAM
        #endif
        let connection = socket(AF_INET, stream, 0)
        defer { close(connection) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try #require(isConnected)
        var rest = Array(start.utf8)[...]
        for _ in 0..<15_000 {
            var byte = rest.popFirst() ?? UInt8(ascii: "a")
            guard send(connection, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 else { return .closed }
            // Returns earlier when the server has closed it.
            var watch = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard poll(&watch, 1, 20) > 0 else { continue }
            var reply = [UInt8](repeating: 0, count: 4_096)
            if recv(connection, &reply, reply.count, 0) <= 0 { return .closed }
        }
        return .open
    }

    @Test(arguments: [
        "", "GET /health HTTP/1.1\r\nx: ", "GET /health HTTP/1.1\r\nhost: h\r\n\r\nGET /health HTTP/1.1\r\nx: ",
    ])
    func `loses its connection, the first request and a later one alike`(_ start: String) async throws {
        let router = Router()
        router.get("health") { _, _ in "ok" }
        let quick = HTTPServerBuilder.http1(configuration: ServeCommand.http(.seconds(1)))
        try await serving(router, server: quick) { server in
            let end = try await withCheckedThrowingContinuation { ended in
                DispatchQueue.global().async { ended.resume(with: Result { try Self.trickle(start, to: server.port) }) }
            }
            #expect(end == .closed)
        }
    }
}
