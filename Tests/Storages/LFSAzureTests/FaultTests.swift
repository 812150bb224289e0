import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Faults of Azure and proxies", .timeLimit(.minutes(10)))
struct FaultTests {
    private let key = Result { try ObjectKey("space/file") }
    private let large = SampleBytes.make((2 << 20) + 5)

    private func errors(_ storage: AzureStorage) async throws -> [StorageError?] {
        let key = try key.get()
        return [
            try await storageError { try await storage.delete(key, abandoning: nil) },
            try await storageError { try await storage.upload(.temporary([1]), to: key, session: UploadSession()) },
            try await storageError { try await storage.upload(.temporary(large), to: key, session: UploadSession()) },
            try await storageError { try await storage.head(key) },
            try await storageError { try await storage.download(DownloadRequest(key), into: DownloadSink { _ in }) },
            try await storageError { try await storage.list(ListRequest(prefix: "")) },
        ]
    }

    @Test(
        "A proxy's page with a success status does not confirm an Azure operation",
        arguments: [200, 201, 202, 204, 206])
    func signInPage(_ status: Int) async throws {
        for error in try await errors(FakeAzure { _, _ in .page(status) }.storage()) {
            #expect([.unreachable, .serverError].contains(error?.code), "\(error?.message ?? "no error")")
        }
    }

    @Test("A proxy's 404 does not mean that a blob is missing", arguments: [404, 410])
    func proxy(_ status: Int) async throws {
        for error in try await errors(FakeAzure { _, _ in .page(status) }.storage()) {
            #expect(error?.isRetryable == true && error?.isMissing == false, "\(error?.message ?? "no error")")
        }
    }

    @Test("A redirect of Azure or a proxy is not followed", arguments: [301, 302, 307, 511])
    func redirect(_ status: Int) async throws {
        let fake = FakeAzure { _, _ in .init(status: status, headers: ["location": "https://evil/"]) }
        for error in try await errors(fake.storage()) { #expect(error?.code == .unreachable) }
        #expect(fake.requests.allSatisfy { $0.origin.host == "account.blob.core.windows.net" })
    }

    @Test("A checksum of other bytes fails the upload", arguments: [false, true])
    func lyingChecksum(_ isLarge: Bool) async throws {
        let fake = FakeAzure { request, body in
            let other = ContentCRC64(of: body + [1]).text
            return request.method == .put
                ? .init(status: 201).with("etag", value: "\"0x1\"").with("x-ms-content-crc64", value: other) : nil
        }
        let error = try await storageError {
            try await fake.storage().upload(.temporary(isLarge ? large : [1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
    }

    /// Returns a service that has the blob of an upload in blocks, and lists all its blocks as uncommitted ones.
    ///
    /// - Parameter isLying: true to report the checksum of other bytes for each block. Then the list is empty.
    private func fakeWithBlocks(isLying: @escaping @Sendable () -> Bool = { false }) throws -> FakeAzure {
        let partSize = 1 << 20
        let byteCount = large.count
        var blocks = ""
        for (index, start) in stride(from: 0, to: byteCount, by: partSize).enumerated() {
            let part = Array(large[start..<min(start + partSize, byteCount)])
            let id = try #require(BlockID(sha256: SampleBytes.sha256(part), number: index + 1))
            blocks += "<Block><Name>\(id.text)</Name><Size>\(part.count)</Size></Block>"
        }
        let list = "<BlockList><UncommittedBlocks>\(blocks)</UncommittedBlocks></BlockList>"
        return FakeAzure { request, body in
            switch request.method {
            case .head:
                return .init(status: 200).with("content-length", value: String(byteCount)).with(
                    "etag", value: "\"0x1\"")
            case .get: return isLying() ? nil : .xml(list)
            case .put:
                let other = ContentCRC64(of: body + [1]).text
                return isLying() ? .init(status: 201).with("x-ms-content-crc64", value: other) : nil
            default: return nil
            }
        }
    }

    private func sentBlockCount(_ fake: FakeAzure) -> Int { fake.requests.count { $0.target.contains("comp=block&") } }

    @Test("Listed blocks of an earlier attempt are not sent again")
    func listedBlocks() async throws {
        let fake = try fakeWithBlocks()
        let checkpoint = try BlockCheckpoint(.temporary(large), partSize: 1 << 20).encoded()
        _ = try await fake.storage().upload(
            .temporary(large), to: key.get(), session: UploadSession(checkpoint: checkpoint))
        #expect(sentBlockCount(fake) == 0)
    }

    @Test("After a checksum of other bytes the next attempt sends all blocks again")
    func distrustedBlocks() async throws {
        let isLying = Mutex(true)
        let fake = try fakeWithBlocks { isLying.withLock { $0 } }
        let storage = try fake.storage()
        let notes = Notes()
        let error = try await storageError {
            try await storage.upload(.temporary(large), to: key.get(), session: notes.session())
        }
        #expect(error?.code == .integrity)
        isLying.withLock { $0 = false }
        let before = sentBlockCount(fake)
        _ = try await storage.upload(.temporary(large), to: key.get(), session: notes.session(notes.saved.last))
        #expect(sentBlockCount(fake) - before == 3)
    }

    @Test("A checksum in reversed byte order fails the upload")
    func byteOrder() async throws {
        let fake = FakeAzure { request, body in
            let bytes = Data(base64Encoded: ContentCRC64(of: body).text) ?? Data()
            let reversed = Data(bytes.reversed()).base64EncodedString()
            return request.method == .put ? .init(status: 201).with("x-ms-content-crc64", value: reversed) : nil
        }
        let error = try await storageError {
            try await fake.storage().upload(.temporary([1, 2, 3]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
    }

    @Test("A reply before the end of the body fails the upload", arguments: [false, true])
    func early(_ isLarge: Bool) async throws {
        let error = try await storageError {
            try await FakeAzure(taken: 0).storage().upload(
                .temporary(isLarge ? large : [1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .serverError)
    }

    @Test("A blob with another size or tag after the commit fails the upload", arguments: [0, 1])
    func otherBlob(_ kind: Int) async throws {
        let size = large.count
        let fake = FakeAzure { request, _ in
            guard request.method == .head else { return nil }
            return .init(status: 200).with("content-length", value: String(kind == 0 ? 7 : size)).with(
                "etag", value: "\"0x2\"")
        }
        let error = try await storageError {
            try await fake.storage().upload(.temporary(large), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
    }

    @Test("Every request that creates a blob has a condition against overwriting")
    func condition() async throws {
        let fake = FakeAzure()
        _ = try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        _ = try await storageError {
            try await fake.storage().upload(.temporary(large), to: key.get(), session: UploadSession())
        }
        let making = fake.requests.filter { $0.method == .put && !$0.target.contains("comp=block&") }
        #expect(making.count == 2)
        #expect(making.allSatisfy { $0.headers["if-none-match"] == "*" })
    }

    @Test(
        "Either reply for an existing blob is recognized", arguments: ["409 BlobAlreadyExists", "412 ConditionNotMet"])
    func taken(_ words: String) async throws {
        let status = try #require(Int(words.prefix(3)))
        let fake = FakeAzure { request, _ in
            if request.method == .head { return .init(status: 200).with("content-length", value: "9") }
            return request.headers["if-none-match"] == nil ? nil : .refusal(status, code: String(words.dropFirst(4)))
        }
        let object = try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        #expect(object.sha256 == SampleBytes.sha256([1]))
        #expect(fake.requests.map(\.method) == [.put, .head, .put])
    }

    @Test("The MD5 of a blob of blocks does not prove its bytes")
    func unprovenMD5() async throws {
        let fake = FakeAzure { request, _ in
            let md5 = "VaVACK0bpYmqIQ0mKcHfQQ=="  // of the byte 1
            switch request.method {
            case .head: return .init(status: 200).with("content-length", value: "1").with("content-md5", value: md5)
            case .get:
                let block = "<Block><Name>QUFB</Name><Size>1</Size></Block>"
                return .xml("<BlockList><CommittedBlocks>\(block)</CommittedBlocks></BlockList>").with(
                    "etag", value: "\"1\"")
            default: return request.headers["if-none-match"] == nil ? nil : .refusal(409, code: "BlobAlreadyExists")
            }
        }
        _ = try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        #expect(fake.requests.map(\.method) == [.put, .head, .get, .put], "the object is replaced")
    }

    @Test("A reply with another range is refused", arguments: ["bytes 5-9/20", "bytes 0-3/20", "x"])
    func otherRange(_ field: String) async throws {
        let fake = FakeAzure { _, _ in
            var answer = FakeAzure.Answer(status: 206).with("etag", value: "\"1\"").with("content-range", value: field)
            answer.body = [1, 2, 3, 4]
            return answer
        }
        let bytes = Mutex<[UInt8]>([])
        let error = try await storageError {
            try await fake.storage().download(
                DownloadRequest(key.get(), range: 2..<6), into: DownloadSink { piece in bytes.withLock { $0 += piece } }
            )
        }
        #expect(error != nil)
        #expect(bytes.withLock { $0.isEmpty })
    }

    @Test("Invalid names in an Azure listing are ignored, and a malformed one is refused")
    func hostileList() async throws {
        func list(_ body: String) async throws -> [String] {
            try await FakeAzure { _, _ in .xml(body) }.storage().list(ListRequest(prefix: "")).objects.map(
                \.key.rawValue)
        }
        func blob(_ name: String, size: String = "1") -> String {
            "<Blob><Name>\(name)</Name><Properties><Content-Length>\(size)</Content-Length></Properties></Blob>"
        }
        func page(_ blobs: String...) -> String {
            "<EnumerationResults><Blobs>\(blobs.joined())</Blobs><NextMarker/></EnumerationResults>"
        }
        let names = try await list(page(blob("ok"), blob("../etc"), blob("A"), blob("/x"), blob("a//b"), blob(".x")))
        #expect(names == ["ok"])
        let directory =
            "<Properties><ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties>"
        #expect(try await list(page("<Blob><Name>folder</Name>\(directory)</Blob>", blob("ok"))) == ["ok"])
        for body in [
            page(blob("ok", size: "-1")), page(blob("ok", size: "1e3")), page(blob("ok", size: "99999999999999999999")),
            page("<Blob/>"),
            page("<Blob><Name>a</Name></Blob>"), "<EnumerationResults/>", "<Other/>",
            String(page(blob("ok")).dropLast(9)),
            "<!DOCTYPE x [<!ENTITY a \"b\">]>" + page(blob("&a;")),
        ] {
            #expect(try await storageError { try await list(body) }?.code == .serverError, "\(body)")
        }
    }

    @Test("A malformed block list ends the attempt before any block is sent")
    func hostileBlocks() async throws {
        for body in ["<BlockList><UncommittedBlocks><Block/></UncommittedBlocks></BlockList>", "<Other/>", "<BlockL"] {
            let fake = FakeAzure { request, _ in request.method == .get ? .xml(body) : nil }
            let error = try await storageError {
                try await fake.storage().upload(.temporary(large), to: key.get(), session: UploadSession())
            }
            #expect(error?.code == .serverError)
            #expect(fake.requests.count == 1)
        }
    }

    @Test("An unknown error code is classified by its status and never as missing")
    func unknownWords() async throws {
        for (status, code) in [(404, StorageError.Code.serverError), (418, .invalidRequest), (500, .serverError)] {
            let fake = FakeAzure { _, _ in .refusal(status, code: "SomethingNew") }
            for error in try await errors(fake.storage()) { #expect(error?.code == code) }
        }
    }

    @Test("Errors contain no key, signature or token")
    func canary() async throws {
        let key = Data("canary-key-of-an-account".utf8).base64EncodedString()
        let query = "sv=2021-12-02&sp=r&sig=canarysignature%3D"
        let kinds: [(AzureCredentials, String)] = [
            (.sharedKey(key), key), (.sas { query }, "canarysignature="),
            (.token { ("canary.token.of.somebody", nil) }, "canary.token.of.somebody"),
        ]
        for (credentials, secret) in kinds {
            let fake = FakeAzure { request, _ in
                let all = "\(request.target) \(request.headers["authorization"] ?? "") said \(secret)"
                return .refusal(403, code: "AuthorizationFailure", message: all.replacing("&", with: "&amp;"))
            }
            let storage = try fake.storage(credentials)
            for error in try await errors(storage) {
                let error = try #require(error)
                var text = String(reflecting: error) + error.message
                dump(error, to: &text)
                dump(storage.capabilities, to: &text)
                dump(credentials, to: &text)
                #expect(!text.contains(secret) && !text.contains("canary"), "\(text)")
            }
        }
    }
}
