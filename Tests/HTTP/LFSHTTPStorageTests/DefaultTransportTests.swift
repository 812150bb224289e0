import LFSHTTP
import LFSStorage
import Testing

@testable import LFSHTTPStorage

@Suite("Transport of a storage") struct DefaultTransportTests {
    private let origin = HTTPOrigin(isSecure: true, host: "example.org", port: nil)

    @Test("Without an engine every request fails with an error about the storage")
    func missing() async throws {
        let transport = MissingTransport(reason: .traitOff)
        let error = await #expect(throws: StorageError.self) {
            try await transport.send(HTTPRequest(.get, origin: origin, target: "/"))
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.isAboutStorage == true)
        #expect(error?.message.contains("Switch on the trait Curl") == true)
        await transport.shutdown()
    }

    @Test("A storage's options choose the engine")
    func choice() {
        var connection = ConnectionOptions()
        #expect(HTTPOptions(connection).engine == .platform)
        connection.engine = .curl
        #expect(HTTPOptions(connection).engine == .curl)
        connection.engine = .urlSession
        #expect(HTTPOptions(connection).engine == .urlSession)
    }

    #if os(Linux)
    @Test("URLSession is refused on Linux, with an error that names the option")
    func urlSessionOnLinux() async throws {
        var options = HTTPOptions()
        options.engine = .urlSession
        let transport = DefaultTransport.make(options)
        let error = await #expect(throws: StorageError.self) {
            try await transport.send(HTTPRequest(.get, origin: origin, target: "/"))
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("ConnectionOptions.engine") == true)
    }
    #endif
}
