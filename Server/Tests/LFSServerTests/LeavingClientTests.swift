import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import Testing

@testable import LFSServer
@testable import LFSSyncServer
@testable import lfs_server

@Suite("Clients that leave during a stream", .timeLimit(.minutes(10)))
struct LeavingClientTests {
    /// Serves sync without heartbeats, so that the server notices a client only when it closes the connection.
    private func run(
        _ body: @escaping @Sendable (RunningServer, SyncService, _ request: String) async throws -> Void
    ) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            let schema = SyncSchema(tables: [.init("recipe", columns: [.init("title", kind: .text)])])
            let service = try await SyncService(
                database, schema: schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
                times: LiveTimes(heartbeat: .seconds(86_400), longest: .seconds(86_400)))
            let token = try await service.addSession(account: "ann")
            let question = #"{"protocol":1,"types":["RecipeV1"],"live":true}"#
            let request =
                "POST /v1/sync/stream HTTP/1.1\r\nhost: h\r\nauthorization: Bearer \(token)\r\n"
                + "content-length: \(question.utf8.count)\r\n\r\n\(question)"
            let router = Router(context: ServerContext.self)
            SyncRoutes(service).add(to: router.group("v1/sync"))
            let server = HTTPServerBuilder.http1(
                configuration: ServeCommand.http(.hours(1), connections: Connections()))
            try await serving(router, server: server) { server in
                // The server waits for open streams when it shuts down.
                defer { service.shutdown() }
                try await body(server, service, request)
            }
            await database.close()
        }
    }

    /// Opens a live stream, and reads until the server waits for changes.
    private func open(_ request: String, on server: RunningServer) async throws -> RawPeer {
        let peer = try RawPeer(port: server.port)
        await peer.send(request)
        var text = ""
        while !text.contains("SyncCompleteV1"), let more = await peer.read() { text += more }
        #expect(text.hasPrefix("HTTP/1.1 200"))
        return peer
    }

    @Test("The stream of a client that closes the connection ends without a heartbeat")
    func closes() async throws {
        try await run { server, service, request in
            for _ in 0..<3 {
                let peer = try await open(request, on: server)
                #expect(service.streamCount == 1)
                _ = consume peer
                try await eventually { service.streamCount == 0 }
            }
        }
    }

    @Test("The stream of a client that closes only its own side of the connection ends")
    func closesItsSide() async throws {
        try await run { server, service, request in
            let peer = try await open(request, on: server)
            peer.finish()
            try await eventually { service.streamCount == 0 }
            #expect(await peer.readToEnd().contains("SyncErrorV1"))
        }
    }
}
