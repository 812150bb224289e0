import LFSHTTP
import LFSStorage
import Testing

@testable import LFSHTTPStorage

@Suite("The transport of a storage") struct DefaultTransportTests {
    @Test("says where there is no engine that one has to be given, and is at fault as a whole")
    func missing() async throws {
        let transport = MissingTransport()
        let origin = HTTPOrigin(isSecure: true, host: "example.org", port: nil)
        let error = await #expect(throws: StorageError.self) {
            try await transport.send(HTTPRequest(.get, origin, "/"))
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.isAboutStorage == true)
        #expect(error?.message.contains("give the storage a transport") == true)
        await transport.shutdown()
    }
}
