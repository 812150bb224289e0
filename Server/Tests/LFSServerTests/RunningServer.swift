import Foundation
import FoundationNetworking
import Hummingbird
import HummingbirdCore
import LFSServer
import Logging
import ServiceLifecycle
import Testing

@testable import lfs_server

/// Routes that are served on a free local port.
struct RunningServer: Sendable {
    struct Reply {
        let status: Int
        let headers: [String: String]
        let body: Data

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let port: Int

    /// - Parameter path: the encoded path with its query.
    func send(
        _ method: String, path: String, headers: [String: String] = [:], body: String = ""
    ) async throws -> Reply {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        if !body.isEmpty { request.httpBody = Data(body.utf8) }
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        let reply = try #require(response as? HTTPURLResponse)
        let fields = reply.allHeaderFields.map { (String(describing: $0).lowercased(), String(describing: $1)) }
        return Reply(status: reply.statusCode, headers: Dictionary(fields) { first, _ in first }, body: data)
    }
}

/// Serves the routes while the body runs, and then shuts down as after a signal.
///
/// - Parameter closing: connections to close during the shutdown, and the delay after the start of the shutdown.
func serving<Context: RequestContext>(
    _ router: Router<Context>, server: HTTPServerBuilder = .http1(),
    closing: (connections: Connections, patience: Duration)? = nil,
    logger: Logger = Logger(label: "test"),
    _ body: @escaping @Sendable (RunningServer) async throws -> Void
) async throws where Context.Source == ApplicationRequestContextSource {
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
        router: router, server: server,
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in
            listening.yield(channel.localAddress?.port ?? 0)
            listening.finish()
        }, logger: logger)
    let service: any Service
    if let closing {
        service = ClosingServer(
            base: application, connections: closing.connections, patience: closing.patience,
            address: ListenAddress(host: "127.0.0.1", port: 0))
    } else {
        service = application
    }
    let group = ServiceGroup(services: [service], logger: application.logger)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
            defer { listening.finish() }
            try await group.run()
        }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(RunningServer(port: try #require(await ports.first { _ in true }))))
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        try outcome.get()
    }
}
