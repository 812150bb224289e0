import Foundation
import Hummingbird
import LFSServer
import Testing

@Suite("Clients that wait for 100 Continue", .timeLimit(.minutes(10)))
struct ContinueTests {
    private var router: Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.addMiddleware { ContinueMiddleware() }
        router.put("taken") { request, _ in
            var count = 0
            for try await piece in request.body { count += piece.readableBytes }
            return "\(count)"
        }
        router.put("refused") { _, _ in HTTPResponse.Status.forbidden }
        return router
    }

    /// Returns the output of curl, an independent client: all heads, the body, and the number of sent bytes.
    private func put(_ url: String, fields: [String]) async throws -> String {
        let output = FileManager.default.temporaryDirectory.appending(path: "curl-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: output) } }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        // curl gives up long before it would send the body without a 100 response.
        process.arguments =
            ["curl", "--silent", "--noproxy", "*", "--expect100-timeout", "600", "--max-time", "300"]
            + ["--dump-header", "-", "--write-out", " sent %{size_upload}", "--upload-file", "/usr/bin/env"]
            + fields.flatMap { ["--header", $0] } + [url]
        process.standardOutput = try FileHandle(forWritingTo: output)
        // Does not block a thread, because the server needs them.
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do {
                try process.start()
            } catch {
                process.terminationHandler = nil
                ended.resume(throwing: error)
            }
        }
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
    }

    @Test func `A client that waits for 100 Continue sends a body that the route reads`() async throws {
        let size = try #require(try URL(filePath: "/usr/bin/env").resourceValues(forKeys: [.fileSizeKey]).fileSize)
        try await serving(router) { server in
            let reply = try await put("http://127.0.0.1:\(server.port)/taken", fields: ["Expect: 100-continue"])
            #expect(reply.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "\(reply)")
            #expect(reply.hasSuffix("\(size) sent \(size)"), "\(reply)")
            let atOnce = try await put("http://127.0.0.1:\(server.port)/taken", fields: ["Expect:"])
            #expect(atOnce.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(atOnce)")
        }
    }

    @Test func `A client that waits for 100 Continue sends no body after a refusal`() async throws {
        try await serving(router) { server in
            let reply = try await put("http://127.0.0.1:\(server.port)/refused", fields: ["Expect: 100-continue"])
            #expect(reply.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && reply.hasSuffix(" sent 0"), "\(reply)")
        }
    }
}
