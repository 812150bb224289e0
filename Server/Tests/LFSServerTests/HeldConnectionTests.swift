import ArgumentParser
import CommandLineOptions
import Foundation
import Hummingbird
import HummingbirdCore
import LFSServer
import NIOCore
import Testing

@testable import lfs_server

@Suite("Connection limits", .timeLimit(.minutes(10)))
struct HeldConnectionTests {
    private static func request(_ path: String, length: Int = 1 << 40) -> String {
        "POST \(path) HTTP/1.1\r\nhost: h\r\ncontent-length: \(length)\r\n\r\n"
    }

    /// Limits that no test reaches. A test lowers the limits that it checks.
    private static var patient: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.unreadTime = .hours(1)
        limits.unreadByteCount = .max
        limits.rateWindow = .hours(1)
        return limits
    }

    private static func server(_ connections: Connections) -> HTTPServerBuilder {
        .http1(configuration: ServeCommand.http(.hours(1), connections: connections))
    }

    private static func router() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.addMiddleware { ReplyMiddleware() }
        router.post("refuse") { _, _ in Response(status: .unauthorized) }
        router.post("take") { request, _ in
            for try await _ in request.body {}
            return "taken\n"
        }
        router.get("ann") { _, context in
            try await Connections.count(context, for: "ann")
            return "ann\n"
        }
        router.get("health") { _, _ in "ok\n" }
        return router
    }

    @Test(arguments: ["/refuse", "/nothing"])
    func `The server closes a connection that trickles its body after a refusal`(_ path: String) async throws {
        var limits = Self.patient
        limits.unreadTime = .milliseconds(300)
        try await serving(Self.router(), server: Self.server(Connections(limits))) { server in
            let peer = try RawPeer(port: server.port)
            let (end, received) = await peer.trickle(Self.request(path))
            #expect(end == .closed)
            #expect(received.hasPrefix("HTTP/1.1 4"))
        }
    }

    @Test func `The server closes a connection that sends too many bytes after a refusal`() async throws {
        var limits = Self.patient
        limits.unreadByteCount = 256 << 10
        try await serving(Self.router(), server: Self.server(Connections(limits))) { server in
            let peer = try RawPeer(port: server.port)
            await peer.send(Self.request("/refuse"))
            // Reads first, because closing the connection may discard bytes that the client has not read yet.
            #expect(await peer.read()?.lowercased().contains("connection: close") == true)
            #expect(await peer.trickle("", pieceByteCount: 64 << 10, pause: 1).end == .closed)
        }
    }

    @Test func `A short body after a refusal leaves the connection open for the next request`() async throws {
        try await serving(Self.router(), server: Self.server(Connections())) { server in
            let peer = try RawPeer(port: server.port)
            await peer.send(Self.request("/refuse", length: 100_000))
            #expect(await peer.read()?.hasPrefix("HTTP/1.1 401") == true)
            await peer.send(String(repeating: "a", count: 100_000) + "GET /health HTTP/1.1\r\nhost: h\r\n\r\n")
            #expect(await peer.read()?.hasPrefix("HTTP/1.1 200") == true)
        }
    }

    @Test func `The server closes a connection whose body is too slow`() async throws {
        var limits = Self.patient
        limits.rateWindow = .milliseconds(300)
        try await serving(Self.router(), server: Self.server(Connections(limits))) { server in
            let peer = try RawPeer(port: server.port)
            let (end, received) = await peer.trickle(Self.request("/take"), pause: 40)
            #expect(end == .closed)
            #expect(received.isEmpty)
        }
    }

    @Test func `The server closes a connection whose client does not read the reply`() async throws {
        var limits = Self.patient
        limits.rateWindow = .milliseconds(300)
        let connections = Connections(limits)
        let (endings, ended) = AsyncStream.makeStream(of: Bool.self)
        let router = Self.router()
        router.get("large") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    do {
                        let piece = ByteBuffer(repeating: 0, count: 256 << 10)
                        for _ in 0..<1_000 { try await writer.write(piece) }
                        try await writer.finish(nil)
                        ended.yield(false)
                    } catch {
                        ended.yield(true)
                        throw error
                    }
                })
        }
        try await serving(router, server: Self.server(connections)) { server in
            let peer = try RawPeer(port: server.port, receiveByteCount: 8_192)
            await peer.send("GET /large HTTP/1.1\r\nhost: h\r\n\r\n")
            #expect(await endings.first { _ in true } == true)
            // The reset also discards the bytes in transit, because the system keeps nothing for such a client.
            _ = await peer.readToEnd()
        }
        #expect(connections.count == 0)
    }

    @Test func `An address has a limited number of connections without an account`() async throws {
        var limits = Self.patient
        limits.connectionsPerAddress = 2
        let connections = Connections(limits)
        try await serving(Self.router(), server: Self.server(connections)) { server in
            let health = "GET /health HTTP/1.1\r\nhost: h\r\n\r\n"
            let peers = try (0..<2).map { _ in try RawPeer(port: server.port) }
            for peer in peers {
                await peer.send(health)
                #expect(await peer.read()?.hasPrefix("HTTP/1.1 200") == true)
            }
            let third = try RawPeer(port: server.port)
            await third.send(health)
            #expect(await third.readToEnd().isEmpty)
            // An authenticated connection counts towards its account, and no longer towards the address.
            await peers[0].send("GET /ann HTTP/1.1\r\nhost: h\r\n\r\n")
            #expect(await peers[0].read()?.hasPrefix("HTTP/1.1 200") == true)
            let fourth = try RawPeer(port: server.port)
            await fourth.send(health)
            #expect(await fourth.read()?.hasPrefix("HTTP/1.1 200") == true)
        }
    }

    @Test func `An account has a limited number of connections`() async throws {
        var limits = Self.patient
        limits.connectionsPerAccount = 1
        limits.unreadTime = .milliseconds(300)
        try await serving(Self.router(), server: Self.server(Connections(limits))) { server in
            let ann = "GET /ann HTTP/1.1\r\nhost: h\r\n\r\n"
            let first = try RawPeer(port: server.port)
            let second = try RawPeer(port: server.port)
            for _ in 0..<2 {
                await first.send(ann)
                #expect(await first.read()?.hasPrefix("HTTP/1.1 200") == true)
            }
            await second.send(ann)
            let reply = await second.readToEnd()
            #expect(reply.hasPrefix("HTTP/1.1 429") && reply.lowercased().contains("connection: close"))
            #expect(reply.contains("This account has too many connections."))
        }
    }

    @Test func `An endless body does not block the shutdown of the server`() async throws {
        let connections = Connections(Self.patient)
        let (starts, started) = AsyncStream.makeStream(of: Void.self)
        let router = Self.router()
        router.post("wait") { request, _ in
            started.yield()
            for try await _ in request.body {}
            return "taken\n"
        }
        try await serving(router, server: Self.server(connections), closing: (connections, .milliseconds(100))) {
            server in
            let peer = try RawPeer(port: server.port)
            await peer.send(Self.request("/wait"))
            await starts.first { _ in true }
            Task { await peer.trickle("") }
        }
        #expect(connections.count == 0)
    }

    @Test func `The options --shutdown-timeout and --reserve are validated`() throws {
        let line = ["--database", "d"]
        let command = try ServeCommand.parse(line)
        #expect(command.end.shutdownTimeout.seconds == 20 && command.end.patience == .seconds(8))
        for text in ["0", "20", "61m", "x"] {
            #expect(throws: (any Error).self) { try ServeCommand.parse(line + ["--shutdown-timeout", text]) }
        }
        _ = try ServeCommand.parse(line + ["--reserve", "5GiB"])
        let postgres = ["--database", "postgres://localhost/d"]
        #expect(throws: (any Error).self) { try ServeCommand.parse(postgres + ["--reserve", "5GiB"]) }
    }
}
