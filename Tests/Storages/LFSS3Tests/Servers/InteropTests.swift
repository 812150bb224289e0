import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Amazon's command line client, which `Tests/Servers/with` has installed.
enum ForeignClient {
    static let path = ProcessInfo.processInfo.environment["LFS_S3_CLIENT"]
    static var isThere: Bool { TestServer.isAvailable && path != nil }

    /// Runs a command and returns its output.
    static func run(_ arguments: String..., on server: TestServer, in folder: URL) async throws -> Data {
        var client = ToolRun(path ?? "aws", arguments: ["--endpoint-url", server.endpoint.absoluteString] + arguments)
        client.environment = [
            "AWS_ACCESS_KEY_ID": server.accessKey, "AWS_SECRET_ACCESS_KEY": server.secretKey,
            "AWS_REGION": server.region, "AWS_EC2_METADATA_DISABLED": "true", "HOME": folder.path,
            "PATH": "/usr/bin:/bin",
            // An older MinIO does not support the trailing checksums of newer clients.
            "AWS_REQUEST_CHECKSUM_CALCULATION": server.name == "juicefs" ? "when_required" : "when_supported",
        ]
        let output = folder.child("output")
        client.output = output
        let status = try await client.finish()
        let data = try Data(contentsOf: output)
        guard status == 0 else { throw Failure(text: String(decoding: data, as: UTF8.self)) }
        return data
    }

    struct Failure: Error {
        let text: String
    }

    /// The output of `aws s3api head-object`.
    struct Head: Decodable {
        let ContentLength: Int
        let ContentType: String
        let Metadata: [String: String]
    }
}

@Suite(
    "Interoperability with Amazon's client", .serialized, .enabled(if: ForeignClient.isThere), .timeLimit(.minutes(10)))
struct InteropTests {
    /// The second size is above the multipart threshold of both clients.
    private static let sizes = [100_000, 17 << 20]

    @Test("Amazon's client downloads objects that this package uploads", arguments: TestServer.multipart, sizes)
    func theyRead(_ server: TestServer, byteCount: Int) async throws {
        let (storage, _) = try await server.counted { $0.multipartThreshold = 8 << 20 }
        let key = try TestServer.newKey("interop")
        let bytes = SampleBytes.make(byteCount)
        let name = "Grüße 文件.bin"
        try await withTemporaryFolder { folder in
            try Data(bytes).write(to: folder.child("file"))
            let source = try UploadSource(
                file: folder.child("file"), byteCount: Int64(byteCount), sha256: SampleBytes.sha256(bytes),
                contentType: "image/x-test", name: name)
            _ = try await storage.upload(source, to: key, session: .init())

            let url = "s3://\(TestServer.bucket)/\(key)"
            _ = try await ForeignClient.run("s3", "cp", url, folder.child("copy").path, on: server, in: folder)
            #expect(try Data(contentsOf: folder.child("copy")) == Data(bytes))

            let printed = try await ForeignClient.run(
                "s3api", "head-object", "--bucket", TestServer.bucket, "--key", key.rawValue, on: server, in: folder)
            let head = try JSONDecoder().decode(ForeignClient.Head.self, from: printed)
            #expect(head.ContentLength == byteCount)
            #expect(head.ContentType == "image/x-test")
            #expect(head.Metadata["lfs-sha256"] == source.sha256)
            #expect(head.Metadata["lfs-name"]?.removingPercentEncoding == name)
        }
        await storage.shutdown()
    }

    @Test("This package reads, lists and deletes objects of Amazon's client", arguments: TestServer.multipart, sizes)
    func weRead(_ server: TestServer, byteCount: Int) async throws {
        let (storage, _) = try await server.counted()
        let key = try TestServer.newKey("interop")
        let bytes = SampleBytes.make(byteCount, seed: 2)
        try await withTemporaryFolder { folder in
            try Data(bytes).write(to: folder.child("file"))
            let url = "s3://\(TestServer.bucket)/\(key)"
            _ = try await ForeignClient.run("s3", "cp", folder.child("file").path, url, on: server, in: folder)
            #expect(try await storage.contents(key) == bytes)
            #expect(try await storage.head(key).byteCount == Int64(byteCount))
            #expect(
                try await storage.list(ListRequest(prefix: key.rawValue)).objects.map(\.byteCount) == [Int64(byteCount)]
            )
            try await storage.delete(key, abandoning: nil)
            await #expect(throws: ForeignClient.Failure.self) {
                try await ForeignClient.run("s3", "cp", url, folder.child("copy").path, on: server, in: folder)
            }
        }
        await storage.shutdown()
    }
}
