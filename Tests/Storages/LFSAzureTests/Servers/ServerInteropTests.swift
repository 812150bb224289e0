import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSAzure

/// Microsoft's library, which `Tests/Servers/azure/clients` has installed.
@Suite("Interoperability with Microsoft's library", .enabled(if: ForeignBlobClient.isThere), .timeLimit(.minutes(10)))
struct ServerInteropTests {
    @Test(
        "Microsoft's library downloads blobs that this package uploads", arguments: AzureServer.all, [100_000, 5 << 20])
    func theyRead(_ server: AzureServer, byteCount: Int) async throws {
        let place = try await server.place()
        let storage = try place.storage(prefix: "p") { ($0.multipartThreshold, $0.partSize) = (1 << 20, 1 << 20) }
        let bytes = SampleBytes.make(byteCount)
        _ = try await storage.upload(.temporary(bytes), to: ObjectKey("a/ours"), session: UploadSession())
        try await withTemporaryFolder { folder in
            let copy = folder.appending(path: "copy")
            let isRead = try ForeignBlobClient.run(place, arguments: "get", "p/a/ours", copy.path)
            #expect(isRead)
            #expect(try Data(contentsOf: copy) == Data(bytes))
        }
        await storage.shutdown()
    }

    @Test("This package reads, lists and deletes Microsoft's blobs", arguments: AzureServer.all, [100_000, 5 << 20])
    func weRead(_ server: AzureServer, byteCount: Int) async throws {
        let place = try await server.place()
        let storage = try place.storage(prefix: "p")
        let (bytes, key) = (SampleBytes.make(byteCount, seed: 2), try ObjectKey("a/theirs"))
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "file")
            try Data(bytes).write(to: file)
            let isWritten = try ForeignBlobClient.run(
                place, arguments: "put", "p/a/theirs", file.path)
            #expect(isWritten)
        }
        #expect(try await storage.contents(key) == bytes)
        #expect(try await storage.contents(key, range: 70..<80_000) == Array(bytes[70..<80_000]))
        #expect(try await storage.list(ListRequest(prefix: "a/")).objects.map(\.byteCount) == [Int64(byteCount)])
        // A blob that another client wrote in blocks is replaced, because its metadata proves nothing.
        _ = try await storage.upload(.temporary([1]), to: key, session: UploadSession())
        #expect(try await storage.contents(key) == [1])
        try await storage.delete(key, abandoning: nil)
        let isThere = try ForeignBlobClient.run(
            place, arguments: "get", "p/a/theirs", "/dev/null")
        #expect(!isThere)
        await storage.shutdown()
    }
}

enum ForeignBlobClient {
    private static let path = ProcessInfo.processInfo.environment["LFS_AZURE_CLIENT"]
    static var isThere: Bool { AzureServer.isAvailable && path != nil }

    private static let script = """
        import sys
        from azure.storage.blob import BlobServiceClient
        endpoint, account, key, container, verb, name, file = sys.argv[1:]
        service = BlobServiceClient(
            endpoint, credential={"account_name": account, "account_key": key}, max_block_size=1 << 20,
            max_single_put_size=1 << 20, retry_total=0)
        blob = service.get_blob_client(container, name)
        if verb == "put":
            blob.upload_blob(open(file, "rb"), metadata={"lfssha256": "0" * 64})
        else:
            blob.download_blob().readinto(open(file, "wb"))
        """

    /// - Parameter arguments: `get` or `put`, the blob's name, and a file.
    /// - Returns: true if the operation succeeded.
    static func run(_ place: AzureServer.Place, arguments: String...) throws -> Bool {
        let server = place.server
        let place = [server.endpoint.absoluteString, server.account, server.accountKey, place.container]
        return try runTool(path ?? "python3", arguments: ["-c", script] + place + arguments)
    }
}
