import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import Testing

@testable import LFSS3

/// Secrets that must not appear anywhere.
enum Canary {
    static let secretKey = "canarySecretKeyOf40Characters/LikeAmazons"
    static let token = "canaryToken/" + String(repeating: "asLongAsAmazons+", count: 12) + "8=="
    static let credentials = S3Credentials(
        accessKeyID: "AKCANARY", secretAccessKey: secretKey, sessionToken: token)
}

extension S3Provider {
    /// A provider that checks and returns checksums, supports conditions, and accepts parts of 1 MiB.
    static let strict = S3Provider(name: "strict") {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.keepsChecksums = true
        $0.minimumPartSize = 1
    }
    /// A provider with `Content-MD5` and an entity tag that is the MD5.
    static let plain = S3Provider(name: "plain") {
        $0.entityTagIsMD5 = true
        $0.minimumPartSize = 1
    }
}

/// Runs a body with a fake server and a storage on it, and closes both.
///
/// - Parameter overTLS: true if the storage uses an https URL.
func withFakeS3(
    _ provider: S3Provider = .strict, credentials: S3CredentialsProvider = .static(Canary.credentials),
    clock: SigningClock = SigningClock(), receiveBuffer: Int32? = nil,
    overTLS: Bool = false, options change: (inout S3Options) -> Void = { _ in },
    _ body: (FakeS3, S3Storage) async throws -> Void
) async throws {
    let fake = try FakeS3(
        tellsChecksums: provider.keepsChecksums, tagsAreMD5: provider.entityTagIsMD5, receiveBuffer: receiveBuffer)
    defer { fake.close() }
    var options = S3Options()
    options.allowsPlainHTTP = true
    options.provider = provider
    options.partSize = 1 << 20
    options.multipartThreshold = .max
    options.maxConcurrentParts = 1
    change(&options)
    var endpoint = fake.url
    if overTLS {
        options.transport = TLSProxy(to: DefaultTransport.make(HTTPOptions(options.connection)))
        endpoint = try #require(URL(string: fake.url.absoluteString.replacing("http://", with: "https://")))
    }
    let location = try S3Location(bucket: "bucket", prefix: "", endpoint: endpoint, addressing: .path)
    let storage = try S3Storage(
        location, region: "us-east-1", credentials: credentials, options: options, clock: clock)
    do {
        try await body(fake, storage)
    } catch {
        await storage.shutdown()
        throw error
    }
    await storage.shutdown()
}

/// A transport that forwards https requests in the clear, like a TLS proxy in front of a server.
struct TLSProxy: HTTPTransport {
    private let base: any HTTPTransport

    init(to base: any HTTPTransport) {
        self.base = base
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        #expect(request.origin.isSecure)
        request.origin = HTTPOrigin(isSecure: false, host: request.origin.host, port: request.origin.port)
        return try await base.send(request)
    }

    func shutdown() async { await base.shutdown() }
}

extension ObjectKey {
    static func sample() throws -> ObjectKey { try ObjectKey("folder/file") }
}

extension FakeS3 {
    /// The bytes that are stored under ``ObjectKey/sample()``.
    var stored: [UInt8]? { objects["/folder/file"]?.bytes }
}

/// Returns the error of a call after checking that it contains no secret.
func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Sendable
) async throws -> StorageError {
    do {
        let result = try await body()
        throw UnexpectedSuccess(result: "\(result)")
    } catch let error as StorageError {
        var dumped = ""
        dump(error, to: &dumped)
        for text in [
            error.message, error.description, String(describing: error), String(reflecting: error), dumped,
            error.localizedDescription, error.cause.map { String(reflecting: $0) } ?? "",
        ] {
            // Even half a secret must not appear.
            #expect(!text.contains(Canary.secretKey.prefix(12)), "a secret", sourceLocation: sourceLocation)
            #expect(!text.contains(Canary.token.prefix(12)), "a secret", sourceLocation: sourceLocation)
        }
        return error
    }
}

struct UnexpectedSuccess: Error {
    let result: String
}

/// A store of the last checkpoint of an upload, like the queue's row.
///
/// The mutex owns its state.
final class SavedCheckpoint: Sendable {
    private struct State {
        var last: UploadCheckpoint?
        var count = 0
        var bytes: [Int64] = []
    }
    private let state = Mutex(State())

    init(_ first: UploadCheckpoint? = nil) { state.withLock { $0.last = first } }

    var last: UploadCheckpoint? { state.withLock(\.last) }
    var value: MultipartCheckpoint? { last.flatMap(MultipartCheckpoint.init) }
    /// The number of times the checkpoint was saved.
    var count: Int { state.withLock(\.count) }
    /// The reports of progress.
    var bytes: [Int64] { state.withLock(\.bytes) }

    /// A session for the next attempt.
    var session: UploadSession {
        UploadSession(checkpoint: last) { bytes in
            self.state.withLock { $0.bytes.append(bytes) }
        } onSave: { checkpoint in
            self.state.withLock { state in
                state.last = checkpoint
                state.count += 1
            }
        }
    }
}
