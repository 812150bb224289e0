import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Tests of connections without a common protocol, and of connections that only break.
@Suite(.timeLimit(.minutes(10))) struct HandshakeTests {
    enum Answer: CaseIterable {
        case plainReply, oldVersionsOnly, noCommonCipher
        case reset, closing

        /// The server's reply to the first bytes of TLS.
        var bytes: [UInt8] {
            switch self {
            case .plainReply: Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8)
            // An alert (RFC 8446, 6): fatal, protocol_version or handshake_failure.
            case .oldVersionsOnly: [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 70]
            case .noCommonCipher: [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 40]
            case .reset, .closing: []
            }
        }

        var isForGood: Bool { ![.reset, .closing].contains(self) }
    }

    @Test(arguments: Answer.allCases) func encryption(_ answer: Answer) async throws {
        let server = try ScriptedServer(isRaw: true) { _, connection in
            try connection.send(answer.bytes)
            if answer == .reset { connection.reset() } else { connection.hangUp() }
        }
        let engine = CurlTransport(.patient)
        let origin = HTTPOrigin(isSecure: true, host: "127.0.0.1", port: server.port)
        do {
            _ = try await engine.send(HTTPRequest(.get, origin: origin, target: "/"))
            Issue.record("The handshake succeeded without TLS.")
        } catch let error as HTTPError {
            #expect(error.code == (answer.isForGood ? .wrongProtocol : .unreachable), "\(error)")
            if answer.isForGood { #expect(error.message.contains("speak https"), "\(error)") }
        }
        #expect(server.connectionCount == 1)
        await engine.shutdown()
        server.close()
    }

    /// On a shared connection large files would wait for each other and take five times as long.
    @Test func everyTransferAsksForAConnectionOfItsOwn() async throws {
        let hello = Mutex<[UInt8]>([])
        let server = try ScriptedServer(isRaw: true) { _, connection in
            // A TLS record begins with its type, the version and the length of the rest.
            let head = connection.readBody(5)
            let rest = connection.readBody(Int(head[3]) << 8 | Int(head[4]))
            hello.withLock { $0 = rest }
            connection.hangUp()
        }
        let engine = CurlTransport(.patient)
        let origin = HTTPOrigin(isSecure: true, host: "127.0.0.1", port: server.port)
        try await #expect(
            code { try await engine.send(HTTPRequest(.get, origin: origin, target: "/")) } == .unreachable)
        // The protocol names (RFC 7301), each after its length.
        let names = String(decoding: hello.withLock { $0 }, as: UTF8.self)
        #expect(names.contains("\u{8}http/1.1"))
        #expect(!names.contains("\u{2}h2"))
        await engine.shutdown()
        server.close()
    }

    @Test func plainHTTPOnAPortForTLSIsNamed() async throws {
        let server = try ScriptedServer(isRaw: true) { _, connection in
            try connection.send([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x16])
            connection.hangUp()
        }
        let engine = CurlTransport(.plain())
        do {
            _ = try await engine.send(HTTPRequest(.get, server: server))
            Issue.record("The invalid reply was accepted.")
        } catch let error as HTTPError {
            #expect(error.code == .wrongProtocol)
            #expect(error.message.contains("write https"))
        }
        await engine.shutdown()
        server.close()
    }

    @Test func aReplyWithoutAHeadIsRefused() async throws {
        let server = try ScriptedServer(isRaw: true) { _, connection in
            try connection.send("<html>this is HTTP/0.9, or no HTTP at all</html>")
            connection.hangUp()
        }
        let engine = CurlTransport(.plain())
        try await #expect(code { try await engine.send(HTTPRequest(.get, server: server)) } == .invalidReply)
        await engine.shutdown()
        server.close()
    }
}
