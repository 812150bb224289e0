import Foundation
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Download URLs of a signing server", .timeLimit(.minutes(10)))
struct DownloadURLTests {
    @Test("The URL is that of the server's action")
    func signed() async throws {
        let fake = FakeSigner()
        fake.state.withLock { $0.objects["space/file"] = [1] }
        let url = try await fake.storage().downloadURL(for: .sample(), expires: .seconds(900)).absoluteString
        #expect(url.hasPrefix("https://store/bucket/space/file?X-Amz-Signature="))
    }

    @Test("A URL that is valid for longer than requested is refused with the server's time")
    func tooLong() async throws {
        let fake = FakeSigner()
        fake.state.withLock { $0.objects["space/file"] = [1] }
        let storage = try fake.storage()
        let error = try await storageError {
            try await storage.downloadURL(for: .sample(), expires: .seconds(899))
        }
        #expect(error?.code == .invalidRequest && error?.message.contains("900 seconds") == true)
    }

    @Test("A time outside of 1 second to 7 days is refused", arguments: [0, 604_801])
    func invalidTime(_ seconds: Int) async throws {
        let fake = FakeSigner()
        let storage = try fake.storage()
        let error = try await storageError {
            try await storage.downloadURL(for: .sample(), expires: .seconds(seconds))
        }
        #expect(error?.code == .invalidRequest)
        #expect(fake.requests.isEmpty)
    }
}
