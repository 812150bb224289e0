import Foundation
import Hummingbird
import LFSServer
import LFSSyncServer
import Testing

@Suite("Tokens that are not sessions", .timeLimit(.minutes(10)))
struct ForeignTokenTests {
    private static let requests = [
        ("POST", "stream"), ("POST", "ack"), ("GET", "ack"), ("DELETE", "ack"), ("POST", "digest"), ("GET", "schema"),
        ("POST", "push"),
    ]

    /// Runs the body with a temporary folder.
    static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "routes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try await body(folder)
    }

    @Test("A token of the token file does not open the sync routes")
    func tokenOfFile() async throws {
        try await Self.withFolder { folder in
            var file = try TokenFile(path: folder.appending(path: "tokens").path, mayBeMissing: true)
            let key = try file.add("ann")
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            let service = try await SyncService(database, schema: SyncSchema())
            // An account of the same name makes no difference.
            let token = try await service.addSession(account: "ann")
            let router = Router()
            router.addMiddleware { ReplyMiddleware() }
            SyncRoutes(service).add(to: router.group("v1/sync"))
            try await serving(router) { server in
                for (method, path) in Self.requests {
                    let refused = try await server.send(
                        method, path: "/v1/sync/\(path)", headers: ["Authorization": "Bearer \(key)"],
                        body: method == "GET" ? "" : "{}")
                    #expect(refused.status == 401, "\(method) \(path)")
                    #expect(refused.headers["www-authenticate"] == "Bearer")
                    let taken = try await server.send(
                        method, path: "/v1/sync/\(path)", headers: ["Authorization": "Bearer \(token)"],
                        body: method == "GET" ? "" : "{}")
                    #expect(taken.status != 401, "\(method) \(path)")
                }
            }
            await database.close()
        }
    }
}
