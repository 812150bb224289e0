import Foundation
import LFSSystem
import LFSWire
import Synchronization
import TestSupport

@testable import LFSSignedURL
@testable import LFSSigningServer

/// A signing server on loopback that keeps its objects in a folder. It outlives the processes of the app and of the
/// service. The mutex owns its state.
final class StoreServer: Sendable {
    /// A fault of the URLs for bytes.
    enum Fault: Sendable {
        /// Redirects the requests to a server that stores nothing.
        case redirect(to: URL)
        /// Answers 200 and stores nothing.
        case lie
        /// Refuses the requests.
        case refuse
    }

    private struct State {
        var fault: Fault?
        var service: SigningService?
        var puts: [String] = []
        var asked: [String] = []
    }

    private let state = Mutex(State())

    static let token = "token"
    static let partSize = 1 << 20

    /// Starts a server and ends it after the body.
    ///
    /// - Parameter folder: the folder of the objects.
    static func run<Value>(
        in folder: URL, _ body: (StoreServer, _ url: URL) async throws -> Value
    ) async throws -> Value {
        let store = StoreServer()
        let server = try ScriptedServer { request, connection in try store.answer(request, on: connection) }
        defer { server.close() }
        let url = server.url.appendingPathComponent("lfs")
        try store.open(folder, url: url)
        let result = try await body(store, url)
        await store.state.withLock(\.service)?.shutdown()
        return result
    }

    private func open(_ folder: URL, url: URL) throws {
        let secret = try SigningSecret(Data(repeating: 7, count: 32))
        let backend = try SigningBackend.directory(
            at: folder, publicURL: url, secret: secret,
            parts: FolderPartOptions(threshold: Int64(Self.partSize), size: Int64(Self.partSize)), now: { Date() })
        let service = try SigningService(backend: backend, access: .rule { _ in true }, secret: secret)
        state.withLock { $0.service = service }
    }

    var fault: Fault? {
        get { state.withLock(\.fault) }
        set { state.withLock { $0.fault = newValue } }
    }

    /// The keys of the bodies that the server has examined so far, in order. A part has the key of its object.
    var puts: [String] { state.withLock(\.puts) }
    /// The operations that were asked for so far, in order.
    var asked: [String] { state.withLock(\.asked) }

    // MARK: Requests

    private func answer(_ request: ServerRequest, on connection: ServerConnection) throws {
        guard let service = state.withLock(\.service) else { return try connection.reply(503) }
        let body = Data(try connection.readBody(of: request))
        if let mark = request.target.range(of: "/bytes/") {
            return try answer(
                request, path: String(request.target[mark.upperBound...]), body: body, service: service, on: connection)
        }
        guard request.headers["authorization"] == "Bearer \(Self.token)" else { return try connection.reply(401) }
        if request.method == "POST" {
            let operation = try WireFormat.decode(SigningRequest.self, from: body, limits: .request).operation
            state.withLock { $0.asked.append(operation.rawValue) }
        }
        let reply = blocking {
            request.method == "GET" ? service.description() : await service.answer(body, caller: "alice")
        }
        try connection.reply(reply.status, headers: reply.headers, String(decoding: reply.body, as: UTF8.self))
    }

    private func answer(
        _ request: ServerRequest, path: String, body: Data, service: SigningService, on connection: ServerConnection
    ) throws {
        switch fault {
        case .redirect(let url): return try connection.reply(307, headers: ["location": url.absoluteString])
        case .lie: return try connection.reply(200)
        case .refuse: return try connection.reply(403)
        case nil: break
        }
        let halves = path.split(separator: "?", maxSplits: 1).map(String.init)
        let bytes = BytesRequest(
            key: halves[0], query: halves.count > 1 ? halves[1] : "", headers: request.headers)
        let isPut = request.method == "PUT"
        let reply = blocking {
            isPut ? await service.put(bytes, body: AsyncStream([Array(body)])) : await service.get(bytes)
        }
        if isPut { state.withLock { $0.puts.append(halves[0]) } }
        guard case .whole(let whole) = reply.body else { return try connection.reply(500) }
        try connection.reply(reply.status, headers: reply.headers, String(decoding: whole, as: UTF8.self))
    }

    /// Runs the body while the thread of the connection waits.
    private func blocking<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let box = ResultBox<Value>()
        let semaphore = DispatchSemaphore(value: 0)
        Task {
            box.put(await body())
            semaphore.signal()
        }
        semaphore.wait()
        guard let value = box.value else { preconditionFailure("The body has put a value.") }
        return value
    }
}
