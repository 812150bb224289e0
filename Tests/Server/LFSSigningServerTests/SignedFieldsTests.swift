import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire
import Testing

@testable import LFSS3
@testable import LFSSigningServer

/// Tests of the signed fields. A server also detects a body of another length by its checksum, so that no server test
/// shows whether the length is signed.
@Suite("Signed headers of S3 requests")
struct SignedFieldsTests {
    @Test(
        "A signature covers every header, including length, checksum and condition", arguments: S3Provider.all
    )
    func all(_ provider: S3Provider) async throws {
        var options = S3Options()
        options.provider = provider
        let storage = try S3Storage(
            bucket: "photos", endpoint: URL(string: "https://store.example"),
            credentials: .static(
                S3Credentials(accessKeyID: "id", secretAccessKey: "secret")), options: options)
        let store = S3Store(storage: storage)
        let bytes = DeclaredContent(byteCount: 3, sha256: Digests.sha256([1]), md5: Digests.md5([1]))
        let key = try ObjectKey("space/one")
        let ticket = UploadTicket(key: key, bytes: bytes, partSize: 3, upload: "id", replaces: false)
        let upload = try await store.upload(
            UploadOrder(key: key, bytes: bytes, replaces: false), expires: .seconds(900))
        let part = try await store.part(1, of: ticket, bytes: bytes, expires: .seconds(900))
        for action in [upload, part] {
            let prefix = provider.dialect == .google ? "X-Goog-" : "X-Amz-"
            let items = URLComponents(string: action.href)?.queryItems ?? []
            let signed = items.first { $0.name == prefix + "SignedHeaders" }?.value?.split(separator: ";").map(
                String.init)
            #expect(Set(signed ?? []) == Set(action.header.keys).union(["host"]))
            #expect(action.header["content-length"] == "3")
            #expect(items.first { $0.name == prefix + "Expires" }?.value == "900")
        }
        let isNew = upload.header["if-none-match"] == "*" || upload.header["x-goog-if-generation-match"] == "0"
        #expect(isNew == provider.conditionalWrites)
        #expect(provider.dialect == .amazon || upload.header.keys.allSatisfy { !$0.hasPrefix("x-amz-") })
        #expect(upload.header["x-amz-checksum-sha256"] != nil || upload.header["content-md5"] != nil)
        let download = try await store.download(key, expires: .seconds(900))
        let names = URLComponents(string: download.href)?.queryItems ?? []
        #expect(names.first { $0.name == "response-content-disposition" }?.value == "attachment")
        await storage.shutdown()
    }
}
