import Foundation
import Hummingbird
import HummingbirdCore
import LFSSyncServer
import Logging
import Synchronization
import Testing

@testable import LFSServer

#if canImport(Glibc)
import Glibc
#endif

@Suite("The routes of sync", .timeLimit(.minutes(10)))
struct SyncRoutesTests {
    /// A database that counts its reads. The mutex owns the count.
    private final class CountingDatabase: SQLDatabase {
        let base: SQLiteDatabase
        private let count = Mutex(0)

        init(_ base: SQLiteDatabase) { self.base = base }

        var readCount: Int { count.withLock { $0 } }
        var dialect: SQLDialect { .sqlite }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLConnection) throws -> Value
        ) async throws -> Value {
            count.withLock { $0 += 1 }
            return try await base.read(body)
        }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLConnection) throws -> Value
        ) async throws -> Value { try await base.write(body) }

        func maintain<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLConnection) throws -> Value
        ) async throws -> Value? { try await base.maintain(body) }

        func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink? { base.observe(receive) }

        func close() async { await base.close() }
    }

    private func serving(
        _ body: @escaping @Sendable (RunningServer, CountingDatabase, _ token: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let database = CountingDatabase(try SQLiteDatabase(path: folder.appendingPathComponent("sync.sqlite").path))
        let schema = SyncSchema(tables: [.init("recipe", columns: [.init("title", kind: .text)])])
        let service = try await SyncService(database, schema: schema)
        let token = try await service.addSession(account: "ann")
        let router = Router()
        router.addMiddleware { ReplyMiddleware() }
        SyncRoutes(service).add(to: router.group("v1/sync"))
        let limited = HTTPServerBuilder.http1(configuration: .init(additionalChannelHandlers: [UnsentLimit()]))
        try await LFSServerTests.serving(router, server: limited) { try await body($0, database, token) }
        await database.close()
    }

    private static let paths = ["stream", "ack", "push", "digest"]

    @Test("An oversized body or a missing session is refused before the body is read")
    func largeBody() async throws {
        try await serving { server, database, token in
            let wrong = ["Authorization: Bearer \(token.dropLast())", "Content-Encoding: gzip"]
            for path in Self.paths {
                for (fields, status) in [(["Authorization: Bearer \(token)"], 413), ([], 401), (wrong, 401)] {
                    let head =
                        ["POST /v1/sync/\(path) HTTP/1.1", "Host: x", "Content-Length: 99999999999"] + fields
                    let connection = try RawSocket(port: server.port)
                    defer { connection.close() }
                    // The client never sends a byte of the body.
                    try await connection.send(head.joined(separator: "\r\n") + "\r\n\r\n")
                    let reply = try await connection.line()
                    #expect(reply.hasPrefix("HTTP/1.1 \(status) "), "\(path): \(reply)")
                }
            }
        }
    }

    @Test("Manipulated paths, fields and values do not inject reply headers")
    func injection() async throws {
        try await serving { server, _, token in
            for path in [
                "/v1/sync/../sync/schema/..", "/v1/sync/%2e%2e/schema", "/v1/sync/schema%00", "/v1/sync//schema/x",
                "/v1/sync/stream%0d%0aX-Evil:%201", "/v1/sync/ack/'%20OR%201=1",
            ] {
                let reply = try await server.send("GET", path: path, headers: ["Authorization": "Bearer \(token)"])
                #expect(reply.status == 404 || reply.status == 400, "\(path): \(reply.status)")
                #expect(reply.headers["x-evil"] == nil && !reply.text.contains("RecipeV1"), "\(path)")
            }
            let type = #"{"protocol":1,"types":["X\r\nX-Evil: 1V1"]}"#
            for body in [type, "{\"protocol\":1,\"types\":[\"Wine\u{0D}\u{0A}X-Evil: 1\"]}"] {
                let reply = try await server.send(
                    "POST", path: "/v1/sync/stream", headers: ["Authorization": "Bearer \(token)"], body: body)
                #expect(reply.status == 400 && reply.headers["x-evil"] == nil, "\(reply.status)")
            }
            // A token with a line break is invalid.
            let connection = try RawSocket(port: server.port)
            try await connection.send(
                "GET /v1/sync/schema HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\u{0D}y\r\n\r\n")
            let status = try await connection.line()
            #expect(status.hasPrefix("HTTP/1.1 400") || status.hasPrefix("HTTP/1.1 401"), "\(status)")
            connection.close()
        }
    }

    /// Returns the number of bytes to which Linux lets the send buffer of a socket grow. Source: tcp(7), `tcp_wmem`.
    private static func largestSendBuffer() throws -> Int {
        let text = try String(contentsOfFile: "/proc/sys/net/ipv4/tcp_wmem", encoding: .utf8)
        return try #require(text.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
    }

    @Test("A device that does not read its socket stops the reads of the store")
    func slowSocket() async throws {
        try await serving { server, database, token in
            let text = String(repeating: "x", count: 2_000)
            try await database.write { db in
                try db.run(
                    script: """
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                        INSERT INTO recipe (id, title, scopeID)
                        SELECT 'r' || i, '\(text)', (SELECT id FROM sync_scope) FROM n
                        """)
            }
            let connection = try RawSocket(port: server.port, receiveBuffer: 4_096)
            let body = #"{"protocol":1,"types":["RecipeV1"]}"#
            let before = database.readCount
            try await connection.send(
                "POST /v1/sync/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            #expect(try await connection.line().hasPrefix("HTTP/1.1 200"))
            // Waits until the buffers of the system are full and no further page is read.
            var last = -1
            while last != database.readCount {
                last = database.readCount
                for _ in 0..<200 {
                    _ = try await database.base.read { try $0.query("SELECT 1", arguments: []) { _ in true } }
                }
            }
            // Forty megabytes are about 640 pages. The server buffers a few of them, and the system fills the buffer of
            // the socket, which it lets grow up to a limit.
            let pagesInSystem = try Self.largestSendBuffer() / 65_536
            #expect(last - before < 12 + pagesInSystem, "\(last - before)")
            #expect(try await connection.drain(until: "SyncCompleteV1"))
            #expect(database.readCount - before > 500)
            connection.close()
        }
    }
}

/// A connection whose bytes a test sends and reads directly.
private final class RawSocket: Sendable {
    private let socket: Int32

    struct Failure: Error {}

    init(port: Int, receiveBuffer: Int32? = nil) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBuffer {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var time = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure() }
    }

    func send(_ text: String) async throws {
        let (bytes, socket) = (Array(text.utf8), socket)
        let count = try await blocking { Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        guard count == bytes.count else { throw Failure() }
    }

    /// Returns the first line of a reply.
    func line() async throws -> String {
        try await blocking { [socket] in
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while recv(socket, &byte, 1, 0) == 1 {
                if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            }
            throw Failure()
        }
    }

    /// Reads until some text has arrived.
    func drain(until words: String) async throws -> Bool {
        try await blocking { [socket] in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var end: [UInt8] = []
            while true {
                let count = recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { return false }
                end = Array((end + buffer[..<count]).suffix(1 << 12))
                if String(decoding: end, as: UTF8.self).contains(words) { return true }
            }
        }
    }

    func close() { _ = Glibc.close(socket) }
}
