import Foundation
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

/// Tests with `curl` and requests written from the protocol page alone.
@Suite("Interoperability with curl", .enabled(if: SigningServerProcess.isAvailable), .timeLimit(.minutes(10)))
struct ServerInteropTests {
    private let bytes = SampleBytes.make(300_000)

    private func key() throws -> ObjectKey { try ObjectKey("test-\(UUID().uuidString.lowercased())/file") }

    @Test("A curl client downloads files that this package uploads", arguments: SigningServerProcess.all)
    func theyRead(_ server: SigningServerProcess) async throws {
        let (storage, key) = (try server.storage(), try key())
        _ = try await storage.upload(.temporary(bytes), to: key, session: UploadSession())
        try await withTemporaryFolder { folder in
            let client = CurlClient(server: server, folder: folder)
            let action = try #require(try client.ask("download", object: ["key": key.rawValue]).actions?["download"])
            let copy = folder.appending(path: "copy")
            try client.send(action, arguments: ["--output", copy.path])
            #expect(try Array(Data(contentsOf: copy)) == bytes)
        }
        try await storage.delete(key, abandoning: nil)
        await storage.shutdown()
    }

    @Test("This package reads, lists and deletes files of a curl client", arguments: SigningServerProcess.all)
    func weRead(_ server: SigningServerProcess) async throws {
        let (storage, key) = (try server.storage(), try key())
        try await withTemporaryFolder { folder in
            let (client, file) = (CurlClient(server: server, folder: folder), folder.appending(path: "file"))
            try Data(bytes).write(to: file)
            var object: [String: Any] = [
                "key": key.rawValue, "size": bytes.count, "sha256": SampleBytes.sha256(bytes),
            ]
            if try client.digests().contains("md5") { object["md5"] = try client.digest("md5sum", file: file) }
            let action = try #require(try client.ask("upload", object: object).actions?["upload"])
            try client.send(action, arguments: ["--upload-file", file.path])
        }
        let received = Mutex<[UInt8]>([])
        let object = try await storage.download(
            DownloadRequest(key), into: DownloadSink { piece in received.withLock { $0 += piece } })
        #expect(received.withLock { $0 } == bytes)
        #expect(object.byteCount == Int64(bytes.count))
        let listed = try await storage.list(ListRequest(prefix: String(key.rawValue.prefix { $0 != "/" }) + "/"))
        #expect(listed.objects.map(\.key) == [key])
        try await storage.delete(key, abandoning: nil)
        let error = try await storageError { try await storage.head(key) }
        #expect(error?.code == .missing)
        await storage.shutdown()
    }
}

/// A client of the protocol based on `curl`. Its files are in a folder of the test.
private struct CurlClient {
    let server: SigningServerProcess
    let folder: URL

    struct Action: Decodable {
        var method: String
        var href: String
        var header: [String: String]?
    }

    struct Answer: Decodable { var actions: [String: Action]? }

    private struct Reply: Decodable { var objects: [Answer] }
    private struct Description: Decodable { var digests: [String] }

    func digests() throws -> [String] {
        try JSONDecoder().decode(Description.self, from: curl(authorization + [server.endpoint.absoluteString])).digests
    }

    func ask(_ operation: String, object: [String: Any]) throws -> Answer {
        let body = folder.appending(path: "body")
        let message: [String: Any] = ["version": 1, "operation": operation, "objects": [object]]
        try JSONSerialization.data(withJSONObject: message).write(to: body)
        let arguments = [
            "--header", "content-type: application/json", "--data-binary", "@\(body.path)",
            server.endpoint.absoluteString,
        ]
        return try #require(
            JSONDecoder().decode(Reply.self, from: curl(authorization + arguments)).objects.first)
    }

    /// - Parameter arguments: the curl options for the source or the destination of the bytes.
    func send(_ action: Action, arguments: [String]) throws {
        let fields = (action.header ?? [:]).flatMap { ["--header", "\($0.key): \($0.value)"] }
        _ = try curl(["--request", action.method] + fields + arguments + [action.href])
    }

    /// Returns the first word that a tool such as `md5sum` prints.
    func digest(_ tool: String, file: URL) throws -> String {
        var run = ToolRun(tool, arguments: [file.path])
        run.output = folder.appending(path: "digest")
        #expect(try run.run() == 0)
        return String(
            decoding: try Data(contentsOf: folder.appending(path: "digest")).prefix { $0 != 0x20 }, as: UTF8.self)
    }

    private var authorization: [String] { ["--header", "authorization: Bearer \(server.secretKey)"] }

    private func curl(_ arguments: [String]) throws -> Data {
        let output = folder.appending(path: "output")
        var run = ToolRun("curl", arguments: ["--silent", "--show-error", "--fail-with-body"] + arguments)
        run.output = output
        let status = try run.run()
        let printed = try Data(contentsOf: output)
        #expect(status == 0, "\(String(decoding: printed.prefix(500), as: UTF8.self))")
        return printed
    }
}
