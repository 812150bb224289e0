import Hummingbird
import HummingbirdCore
import LFSServer
import Testing

@testable import lfs_server

@Suite("Slow request heads", .timeLimit(.minutes(10)))
struct SlowHeadTests {
    @Test(arguments: [
        "", "GET /health HTTP/1.1\r\nx: ", "GET /health HTTP/1.1\r\nhost: h\r\n\r\nGET /health HTTP/1.1\r\nx: ",
    ])
    func `The server closes a connection with a slow first or later request head`(_ start: String) async throws {
        let router = Router()
        router.get("health") { _, _ in "ok" }
        let quick = HTTPServerBuilder.http1(
            configuration: ServeCommand.http(.seconds(1), connections: Connections()))
        try await serving(router, server: quick) { server in
            let peer = try RawPeer(port: server.port)
            #expect(await peer.trickle(start).end == .closed)
        }
    }
}
