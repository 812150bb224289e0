import Foundation
import Hummingbird
import Logging
import Synchronization
import Testing

@testable import LFSServer

@Suite("Server log", .timeLimit(.minutes(10)))
struct LogTests {
    @Test(arguments: [
        ("space/one", "space/one"), ("a outcome=done", "\"a outcome=done\""), ("a=b", "\"a=b\""), ("", "\"\""),
        ("a\"b\\", "\"a\\\"b\\\\\""), ("a\nb", "\"a\\u{a}b\""), ("\u{1b}[2J", "\"\\u{1b}[2J\""),
        ("a\u{202e}b", "\"a\\u{202e}b\""), ("ü", "ü"), ("2001:db8::1", "2001:db8::1"),
    ])
    func `An ambiguous value is quoted in the log`(_ text: String, _ line: String) {
        #expect(QuotingLogHandler.quoted(text) == line)
    }

    @Test func `Ambiguous values in lists and dictionaries are quoted in the log`() {
        let value = Logger.MetadataValue.dictionary(["k": .array([.string("a b"), .stringConvertible(7)])])
        #expect(QuotingLogHandler.quoted(value) == .dictionary(["k": .array([.string("\"a b\""), .string("7")])]))
    }

    @Test(arguments: [(false, "127.0.0.1"), (true, "203.0.113.7")])
    func `A failed login is logged with the address of the client`(_ isBehindProxy: Bool, _ peer: String) async throws {
        let lines = LogLines()
        let router = Router(context: ServerContext.self)
        router.addMiddleware { ReplyMiddleware(trust: isBehindProxy ? .last : .none) }
        router.get("private") { _, _ in Response(status: .unauthorized) }
        router.get("public") { _, _ in "ok\n" }
        try await serving(router, logger: Logger(label: "test") { _ in lines }) { server in
            _ = try await server.send("GET", path: "/public")
            _ = try await server.send(
                "GET", path: "/private", headers: ["X-Forwarded-For": "198.51.100.1, 203.0.113.7"])
            _ = try await server.send("GET", path: "/private", headers: ["X-Forwarded-For": "no address"])
        }
        let failures = lines.all.withLock { $0 }.filter { $0.message == "A login failed." }
        #expect(failures.map { $0.metadata } == [["peer": "\(peer)"], ["peer": "127.0.0.1"]])
    }
}
