import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

@Suite("Google Cloud Storage dialect", .timeLimit(.minutes(10)))
struct GoogleTests {
    private let bytes = SampleBytes.make(2_500_000)

    /// The examples are from Google's conformance tests for signed URLs (v4_signatures.json), which use an RSA key.
    /// With HMAC keys only the algorithm's name in the signed request differs.
    @Test(
        "Google's examples of signed URLs have the documented request hash",
        arguments: [
            (1_549_011_600.0, 10, "00e2fb794ea93d7adb703edaebdd509821fcc7d4f1a79ac5c8d2b394df109320"),
            (1_551_430_800.0, 20, "779f19fdb6fd381390e2d5af04947cf21750277ee3c20e0c97b7e46a1dff8907"),
        ])
    func conformance(time: Double, expires: Int, hash: String) throws {
        let signer = SignatureV4(
            credentials: S3Credentials(
                accessKeyID: "test-iam-credentials@dummy-project-id.iam.gserviceaccount.com",
                secretAccessKey: "secret"),
            region: "auto", dialect: .google)
        let origin = HTTPOrigin(isSecure: true, host: "storage.googleapis.com", port: nil)
        let query = try signer.presign(
            .get, origin: origin, path: "/test-bucket/test-object", expires: .seconds(expires),
            date: Date(timeIntervalSince1970: time))
        let unsigned = try #require(query.firstRange(of: "&X-Goog-Signature=")).lowerBound
        let request = """
            GET
            /test-bucket/test-object
            \(query[..<unsigned].replacing("GOOG4-HMAC-SHA256", with: "GOOG4-RSA-SHA256"))
            host:storage.googleapis.com

            host
            UNSIGNED-PAYLOAD
            """
        #expect(Hex.text(SHA256.hash(data: Data(request.utf8))) == hash)
    }

    @Test("Requests use Google's header names, signatures and generation conditions")
    func upload() async throws {
        try await withGoogle { fake, door, storage in
            let source = try UploadSource.temporary(bytes)
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.byteCount == source.byteCount)
            // The client repeats the upload as if the first reply had been lost.
            _ = try await storage.upload(source, to: .sample(), session: .init())
            #expect(fake.operations == [.put, .put, .head])
            #expect(door.generations == ["0", "0", nil])
            try await fakeOther(fake)
            _ = try await storage.upload(source, to: .sample(), session: .init())
            #expect(fake.stored == bytes)
            let received = Mutex<[UInt8]>([])
            _ = try await storage.download(
                DownloadRequest(.sample(), range: 5..<10),
                into: DownloadSink { bytes in received.withLock { $0.append(contentsOf: bytes) } })
            #expect(received.withLock { $0 } == Array(bytes[5..<10]))
            #expect(try await storage.list(ListRequest(prefix: "folder/")).objects.map(\.key) == [.sample()])
            try await storage.delete(.sample(), abandoning: nil)
            #expect(fake.objects.isEmpty)
        }
    }

    @Test("An upload in parts to Google resumes and needs no MD5 entity tag")
    func parts() async throws {
        try await withGoogle {
            $0.multipartThreshold = 1
            $0.storageClass = "NEARLINE"
            $0.encryption = .kms(keyID: "projects/p/key")
        } _: { fake, door, storage in
            fake.fail(.part, after: 1) { try $0.refuse(.error(500, code: "InternalError")) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            await #expect(throws: StorageError.self) {
                try await storage.upload(source, to: .sample(), session: saved.session)
            }
            let object = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(object.byteCount == source.byteCount)
            #expect(fake.stored == bytes)
            #expect(fake.count(.create) == 1)
            #expect(door.generations.allSatisfy { $0 == nil })
            let create = try #require(door.requests.first { $0.method == .post })
            #expect(create.headers["x-goog-storage-class"] == "NEARLINE")
            #expect(create.headers["x-goog-encryption-kms-key-name"] == "projects/p/key")
            #expect(create.headers["x-goog-meta-lfs-sha256"] == source.sha256)
        }
    }

    @Test("The Google dialect meets the storage contract", arguments: StorageConformance.checks)
    func contract(_ check: StorageCheck) async throws {
        try await withGoogle { _, _, storage in try await check.run(against: storage) }
    }

    @Test("Presigned URLs use Google's query parameters")
    func presigned() async throws {
        try await withGoogle { _, _, storage in
            let url = try await storage.downloadURL(for: .sample(), expires: .seconds(60)).absoluteString
            #expect(url.contains("X-Goog-Algorithm=GOOG4-HMAC-SHA256") && url.contains("X-Goog-Signature="))
            #expect(url.contains("response-content-disposition=attachment"))
            #expect(url.contains("%2Fauto%2Fstorage%2Fgoog4_request") && !url.contains("Amz"))
        }
    }

    @Test("A gs:// URL selects Google's endpoint and dialect")
    func url() throws {
        let url = try S3URL(parsing: "gs://photos/p")
        #expect(url.endpoint?.absoluteString == "https://storage.googleapis.com")
        #expect(url.provider == .googleCloud && url.region == "auto")
        // The endpoint of the environment is meant for Amazon's tools.
        let storage = try S3Storage(url, environment: ["AWS_ENDPOINT_URL": "http://127.0.0.1:1"])
        #expect(storage.capabilities.location == "s3:storage.googleapis.com/photos/p/")
        #expect(S3Provider.detect(endpoint: "storage.googleapis.com").dialect == .google)
    }

    private func fakeOther(_ fake: FakeS3) async throws {
        fake.store(SampleBytes.make(10), at: "folder/file")
    }

    private func withGoogle(
        options change: (inout S3Options) -> Void = { _ in },
        _ body: (FakeS3, GoogleDoor, S3Storage) async throws -> Void
    ) async throws {
        // Entity tags are MD5s for single requests. Objects in parts have no checksum at all.
        let fake = try FakeS3(tellsChecksums: false, tagsAreMD5: false)
        defer { fake.close() }
        var options = S3Options()
        options.allowsPlainHTTP = true
        options.provider = .googleCloud
        options.provider?.minimumPartSize = 1
        options.partSize = 1 << 20
        options.maxConcurrentParts = 1
        change(&options)
        let door = GoogleDoor(to: DefaultTransport.make(HTTPOptions(options.connection)))
        options.transport = door
        let storage = try S3Storage(
            bucket: "bucket", endpoint: fake.url, addressing: .path, credentials: .static(GoogleDoor.credentials),
            options: options)
        do {
            try await body(fake, door, storage)
        } catch {
            await storage.shutdown()
            throw error
        }
        await storage.shutdown()
    }
}

/// A transport that checks requests as Google's service does and forwards them with Amazon's header names.
///
/// The mutex owns its state.
private final class GoogleDoor: HTTPTransport {
    static let credentials = S3Credentials(
        accessKeyID: "GOOG1EXAMPLE", secretAccessKey: "bGoa+V7g/yqDXvKRqq+JTFn4uQZbPiQJo4pf9RzJ")

    private let base: any HTTPTransport
    private let all = Mutex<[HTTPRequest]>([])

    init(to base: any HTTPTransport) {
        self.base = base
    }

    var requests: [HTTPRequest] { all.withLock { $0 } }
    /// The generation condition of each request that has a body, and of each HEAD.
    var generations: [String?] {
        requests.filter { $0.body.byteCount > 0 || $0.method == .head }.map { $0.headers["x-goog-if-generation-match"] }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        all.withLock { $0.append(request) }
        for field in request.headers.fields {
            #expect(!field.name.lowercased().hasPrefix("x-amz-"), "\(field.name)")
        }
        #expect(request.method != .put || request.headers["if-none-match"] == nil)
        #expect(request.headers["authorization"] == (try authorization(of: request)))
        var sent = request
        sent.headers = HTTPHeaders()
        for field in request.headers.fields {
            switch field.name {
            case "x-goog-if-generation-match": try sent.headers.set("if-none-match", value: "*")
            case let name where name.hasPrefix("x-goog-"):
                try sent.headers.set("x-amz-" + name.dropFirst("x-goog-".count), value: field.value)
            default: try sent.headers.set(field.name, value: field.value)
            }
        }
        return try await base.send(sent)
    }

    func shutdown() async { await base.shutdown() }

    /// Computes the signature from Google's reference pages "Signatures" and "Canonical requests", independently of the
    /// client.
    private func authorization(of request: HTTPRequest) throws -> String {
        let stamp = try #require(request.headers["x-goog-date"])
        let (day, parts) = (stamp.prefix(8), request.target.split(separator: "?", maxSplits: 1))
        var fields = ["host": request.origin.authority]
        for field in request.headers.fields {
            let name = field.name.lowercased()
            if name.hasPrefix("x-goog-") || name.hasPrefix("if-")
                || ["content-type", "content-md5", "range"].contains(name)
            {
                fields[name] = field.value
            }
        }
        let names = fields.keys.sorted()
        let query = parts.count > 1 ? parts[1].split(separator: "&").sorted().joined(separator: "&") : ""
        let canonical =
            "\(request.method.rawValue)\n\(parts[0])\n\(query)\n"
            + names.map { "\($0):\(fields[$0] ?? "")\n" }.joined()
            + "\n\(names.joined(separator: ";"))\n\(request.headers["x-goog-content-sha256"] ?? "")"
        let scope = "\(day)/auto/storage/goog4_request"
        let text = "GOOG4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(Hex.text(SHA256.hash(data: Data(canonical.utf8))))"
        var key = Data("GOOG4\(Self.credentials.secretAccessKey)".utf8)
        for word in [String(day), "auto", "storage", "goog4_request", text] {
            key = Data(HMAC<SHA256>.authenticationCode(for: Data(word.utf8), using: SymmetricKey(data: key)))
        }
        return "GOOG4-HMAC-SHA256 Credential=\(Self.credentials.accessKeyID)/\(scope), "
            + "SignedHeaders=\(names.joined(separator: ";")), Signature=\(Hex.text(key))"
    }
}
