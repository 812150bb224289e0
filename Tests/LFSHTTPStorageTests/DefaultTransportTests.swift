import LFSHTTP
import LFSStorage
import Testing

@testable import LFSHTTPStorage

@Suite("The transport of a storage") struct DefaultTransportTests {
    @Test("Without an engine every request fails, and the storage as a whole is at fault")
    func missing() async throws {
        let transport = MissingTransport(reason: .noEngine)
        let origin = HTTPOrigin(isSecure: true, host: "example.org", port: nil)
        let error = await #expect(throws: StorageError.self) {
            try await transport.send(HTTPRequest(.get, origin, "/"))
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.isAboutStorage == true)
        #expect(error?.message == MissingTransport.Reason.noEngine.message)
        await transport.shutdown()
    }

    @Test("The error names the trait only on a platform that has an engine")
    func reasons() {
        let (platform, build) = (MissingTransport.Reason.noEngine.message, MissingTransport.Reason.traitOff.message)
        #expect(platform.contains("for this platform yet") && platform.contains("no network storage works"))
        #expect(!platform.contains("trait"))
        #expect(build.contains("Switch on the trait Curl"))
        // An app cannot choose a transport.
        #expect(!(platform + build).contains("transport"))
        #if os(macOS) || os(Linux)
        #expect(MissingTransport.Reason.here == .traitOff)
        #else
        #expect(MissingTransport.Reason.here == .noEngine)
        #endif
    }
}
