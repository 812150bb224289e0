import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Custom header fields of S3 requests", .timeLimit(.minutes(10)))
struct SignedHeaderTests {
    @Test("A custom field is sent with each request and is not part of the signature")
    func unsigned() async throws {
        try await withFakeS3(options: { $0.headers = ["X-Door": "open sesame"] }) { fake, storage in
            let key = try ObjectKey("a/b")
            _ = try await storage.upload(.temporary([1, 2, 3]), to: key, session: UploadSession())
            _ = try await storage.head(key)
            #expect(fake.requests.count >= 2)
            for request in fake.requests {
                #expect(request.headers["x-door"] == "open sesame")
                let signature = try #require(request.headers["authorization"])
                #expect(signature.contains("SignedHeaders=") && !signature.contains("x-door"))
            }
            let link = try await storage.downloadURL(for: key, expires: .seconds(60)).absoluteString
            #expect(!link.lowercased().contains("door") && !link.contains("sesame"))
        }
    }
}
