import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Azure, or what stands before it", .timeLimit(.minutes(10)))
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

    @Test("that says yes to everything has done nothing", arguments: [200, 201, 202, 204, 206])
    func signInPage(_ status: Int) async throws {
        for error in try await errors(FakeAzure { _, _ in .page(status) }.storage()) {
            #expect([.unreachable, .serverError].contains(error?.code), "\(error?.message ?? "no error")")
        }
    }

    @Test("that knows no such page has not told that a blob is gone", arguments: [404, 410])
    func proxy(_ status: Int) async throws {
        for error in try await errors(FakeAzure { _, _ in .page(status) }.storage()) {
            #expect(error?.isRetryable == true && error?.isMissing == false, "\(error?.message ?? "no error")")
        }
    }

    @Test("that redirects is not followed", arguments: [301, 302, 307, 511])
    func redirect(_ status: Int) async throws {
        let fake = FakeAzure { _, _ in .init(status: status, headers: ["location": "https://evil/"]) }
        for error in try await errors(fake.storage()) { #expect(error?.code == .unreachable) }
        #expect(fake.requests.allSatisfy { $0.origin.host == "account.blob.core.windows.net" })
    }

    @Test("that tells another checksum than that of the bytes has others", arguments: [false, true])
    func lyingChecksum(_ isLarge: Bool) async throws {
        let fake = FakeAzure { request, body in
            let other = ContentCRC64(of: body + [1]).text
            return request.method == .put
                ? .init(status: 201).with("etag", "\"0x1\"").with("x-ms-content-crc64", other) : nil
        }
        let error = try await storageError {
            try await fake.storage().upload(.temporary(isLarge ? large : [1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
    }

    @Test("that writes the checksum's bytes as S3 does is told from one that has the same bytes")
    func byteOrder() async throws {
        let fake = FakeAzure { request, body in
            let bytes = Data(base64Encoded: ContentCRC64(of: body).text) ?? Data()
            let reversed = Data(bytes.reversed()).base64EncodedString()
            return request.method == .put ? .init(status: 201).with("x-ms-content-crc64", reversed) : nil
        }
        let error = try await storageError {
            try await fake.storage().upload(.temporary([1, 2, 3]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
    }

    @Test("that answers before it has read everything stored nothing", arguments: [false, true])
    func early(_ isLarge: Bool) async throws {
        let error = try await storageError {
            try await FakeAzure(taken: 0).storage().upload(
                .temporary(isLarge ? large : [1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .serverError)
    }

    @Test("that has a blob of another size after the commit, or another's, is not believed", arguments: [0, 1])
    func otherBlob(_ kind: Int) async throws {
        let size = large.count
        let fake = FakeAzure { request, _ in
            guard request.method == .head else { return nil }
            return .init(status: 200).with("content-length", String(kind == 0 ? 7 : size)).with("etag", "\"0x2\"")
        }
        let error = try await storageError {
            try await fake.storage().upload(.temporary(large), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
    }

    @Test("gets no blob without the condition that nothing is replaced unseen")
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

    @Test("says in two ways that something is there", arguments: ["409 BlobAlreadyExists", "412 ConditionNotMet"])
    func taken(_ words: String) async throws {
        let status = try #require(Int(words.prefix(3)))
        let fake = FakeAzure { request, _ in
            if request.method == .head { return .init(status: 200).with("content-length", "9") }
            return request.headers["if-none-match"] == nil ? nil : .refusal(status, String(words.dropFirst(4)))
        }
        let object = try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        #expect(object.sha256 == SampleBytes.sha256([1]))
        #expect(fake.requests.map(\.method) == [.put, .head, .put])
    }

    @Test("whose MD5 is the right one for a blob of blocks has no proof: anybody can have written it")
    func unprovenMD5() async throws {
        let fake = FakeAzure { request, _ in
            let md5 = "VaVACK0bpYmqIQ0mKcHfQQ=="  // of the byte 1
            switch request.method {
            case .head: return .init(status: 200).with("content-length", "1").with("content-md5", md5)
            case .get:
                let block = "<Block><Name>QUFB</Name><Size>1</Size></Block>"
                return .xml("<BlockList><CommittedBlocks>\(block)</CommittedBlocks></BlockList>").with("etag", "\"1\"")
            default: return request.headers["if-none-match"] == nil ? nil : .refusal(409, "BlobAlreadyExists")
            }
        }
        _ = try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        #expect(fake.requests.map(\.method) == [.put, .head, .get, .put], "it is replaced")
    }

    @Test("that sends another part than was asked for is refused", arguments: ["bytes 5-9/20", "bytes 0-3/20", "x"])
    func otherRange(_ field: String) async throws {
        let fake = FakeAzure { _, _ in
            var answer = FakeAzure.Answer(status: 206).with("etag", "\"1\"").with("content-range", field)
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

    @Test("with lists that cannot be is refused, or names are left out")
    func hostileList() async throws {
        func list(_ body: String) async throws -> [String] {
            try await FakeAzure { _, _ in .xml(body) }.storage().list(ListRequest(prefix: "")).objects.map(
                \.key.rawValue)
        }
        func blob(_ name: String, _ size: String = "1") -> String {
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
            page(blob("ok", "-1")), page(blob("ok", "1e3")), page(blob("ok", "99999999999999999999")), page("<Blob/>"),
            page("<Blob><Name>a</Name></Blob>"), "<EnumerationResults/>", "<Other/>",
            String(page(blob("ok")).dropLast(9)),
            "<!DOCTYPE x [<!ENTITY a \"b\">]>" + page(blob("&a;")),
        ] {
            #expect(try await storageError { try await list(body) }?.code == .serverError, "\(body)")
        }
    }

    @Test("whose list of blocks cannot be read ends the try, and no block goes out")
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

    @Test("whose words are not known is judged by the status, and never takes a blob for gone")
    func unknownWords() async throws {
        for (status, code) in [(404, StorageError.Code.serverError), (418, .invalidRequest), (500, .serverError)] {
            let fake = FakeAzure { _, _ in .refusal(status, "SomethingNew") }
            for error in try await errors(fake.storage()) { #expect(error?.code == code) }
        }
    }

    @Test("shows no key, no signature and no token, whatever it repeats")
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
                return .refusal(403, "AuthorizationFailure", all.replacing("&", with: "&amp;"))
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
