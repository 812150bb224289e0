import Foundation
import JournalWeb
import LFSServer
import NIOCore
import Testing

@Suite("A browser that holds its connection", .timeLimit(.minutes(10)))
struct HeldConnectionTests {
    /// Returns the bytes that arrive until the server closes the connection.
    private func received(_ head: String, subject: WebSubject) async throws -> String {
        let port = subject.address.port
        return try await blocking {
            let connection = try RawConnection(port: port)
            connection.send(Data(head.utf8))
            return String(decoding: try connection.readToEnd(), as: UTF8.self)
        }
    }

    @Test func `The journal closes a connection that continues to send after a refusal`() async throws {
        try await withWeb { options in
            options.connectionLimits.unreadTime = .milliseconds(300)
        } _: { subject in
            let head = "POST /albums HTTP/1.1\r\nHost: \(subject.address)\r\nContent-Length: 1099511627776\r\n\r\n"
            let reply = try await received(head, subject: subject)
            #expect(reply.hasPrefix("HTTP/1.1 403"))
        }
    }

    @Test func `The journal closes a connection whose body arrives too slowly`() async throws {
        try await withWeb { options in
            options.connectionLimits.rateWindow = .milliseconds(300)
        } _: { subject in
            let visitor = try await subject.visiting()
            let head = """
                POST /albums HTTP/1.1\r
                Host: \(subject.address)\r
                Origin: \(subject.origin)\r
                Cookie: \(visitor.cookie)\r
                Content-Type: application/x-www-form-urlencoded\r
                Content-Length: 100\r
                \r
                token=
                """
            let reply = try await received(head, subject: subject)
            #expect(reply.isEmpty)
        }
    }
}
