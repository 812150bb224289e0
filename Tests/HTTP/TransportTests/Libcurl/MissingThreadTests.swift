import Foundation
import LFSHTTP
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSCurl

@Suite("Engines without a thread", .timeLimit(.minutes(10)))
struct MissingThreadTests {
    @Test("A request fails at once if no thread can be made, and the next one tries again")
    func refused() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        defer { server.close() }
        let isShort = Mutex(true)
        let engine = CurlTransport(.plain()) { body throws(SystemError) in
            if isShort.withLock({ $0 }) {
                throw SystemError(call: "pthread_create", path: "lfs-http", errno: EAGAIN)
            }
            try SystemThread.start("lfs-http", body)
        }
        let error = await #expect(throws: HTTPError.self) { try await engine.send(HTTPRequest(.get, server: server)) }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("ulimit -u") == true)
        isShort.withLock { $0 = false }
        #expect(try await engine.send(HTTPRequest(.get, server: server)).status == 200)
        await engine.shutdown()
    }

    @Test("An engine whose thread could not be made shuts down")
    func shutdown() async throws {
        let engine = CurlTransport(.plain()) { _ throws(SystemError) in
            throw SystemError(call: "pthread_create", path: "lfs-http", errno: EAGAIN)
        }
        let request = HTTPRequest(.get, origin: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 1), target: "/")
        await #expect(throws: HTTPError.self) { try await engine.send(request) }
        await engine.shutdown()
        let error = await #expect(throws: HTTPError.self) { try await engine.send(request) }
        #expect(error?.code == .closed)
    }
}
