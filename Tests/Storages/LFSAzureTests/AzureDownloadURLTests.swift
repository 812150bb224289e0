import Foundation
import LFSStorage
import LFSTesting
import Testing

@testable import LFSAzure

@Suite("Download URLs of a container")
struct AzureDownloadURLTests {
    private func storage(_ credentials: AzureCredentials) throws -> AzureStorage {
        try AzureStorage(account: "account", container: "container", credentials: credentials)
    }

    @Test("The account's key signs a URL that permits only reading")
    func key() async throws {
        let storage = try storage(.sharedKey("YQ=="))
        let url = try await storage.downloadURL(for: ObjectKey("space/one"), expires: .seconds(600)).absoluteString
        #expect(url.hasPrefix("https://account.blob.core.windows.net/container/space/one?sp=r&se="))
        #expect(url.contains("&rscd=attachment") && url.contains("&spr=https") && url.contains("&sig="))
    }

    @Test("A time outside of 1 second to 7 days is refused", arguments: [0, 604_801])
    func invalidTime(_ seconds: Int) async throws {
        let storage = try storage(.sharedKey("YQ=="))
        let error = await #expect(throws: StorageError.self) {
            try await storage.downloadURL(for: ObjectKey("space/one"), expires: .seconds(seconds))
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("A shared access signature cannot sign a URL")
    func accessSignature() async throws {
        let storage = try storage(.sas { "sv=2021-12-02&sp=r&sig=YQ%3D%3D" })
        let error = await #expect(throws: StorageError.self) {
            try await storage.downloadURL(for: ObjectKey("space/one"), expires: .seconds(600))
        }
        #expect(error?.code == .unauthorized)
    }
}
