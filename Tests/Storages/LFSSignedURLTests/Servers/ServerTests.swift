import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

/// Tests of the storage contract with servers written from the protocol page alone.
@Suite(
    "Storage contract of signing servers", .enabled(if: SigningServerProcess.isAvailable),
    .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    private static let turns = AsyncSemaphore(3)

    @Test("A signing server meets the storage contract", arguments: SigningServerProcess.all, StorageConformance.checks)
    func contract(_ server: SigningServerProcess, check: StorageCheck) async throws {
        try await Self.turns.withPermit {
            let storage = try server.storage()
            if server.knownDeviations.contains(check.name) {
                await withKnownIssue("SeaweedFS lists in the order of its folders") {
                    try await check.run(against: storage)
                }
            } else {
                try await check.run(against: storage)
            }
            await storage.shutdown()
        }
    }
}

@Suite("Operations on signing servers", .enabled(if: SigningServerProcess.isAvailable), .timeLimit(.minutes(10)))
struct ServerTests {
    /// Returns a key in a new namespace, which belongs to its first writer.
    private func key(_ name: String = "file") throws -> ObjectKey {
        try ObjectKey("test-\(UUID().uuidString.lowercased())/\(name)")
    }

    @Test("A large file resumes with the stored parts", arguments: SigningServerProcess.all)
    func resume(_ server: SigningServerProcess) async throws {
        let bytes = SampleBytes.make((32 << 20) + 10)
        let key = try key()
        let sent = Mutex(0)
        let saved = try SavedCheckpoint()
        let cutting = CuttingTransport(base: Self.transport()) { request in
            request.method == .put
                && sent.withLock { sent in
                    sent += 1
                    return sent > 2
                }
        }
        let first = try server.storage {
            $0.transport = cutting
            $0.maxConcurrentParts = 1
        }
        let error = try await storageError {
            try await first.upload(.temporary(bytes), to: key, session: saved.session)
        }
        #expect(error?.isRetryable == true)
        await first.shutdown()
        let counting = CountingTransport(base: Self.transport())
        let second = try server.storage { $0.transport = counting }
        let object = try await second.upload(.temporary(bytes), to: key, session: saved.session)
        #expect(object.sha256 == SampleBytes.sha256(bytes))
        let partSize = try #require(saved.value?.partSize)
        let partCount = (bytes.count + Int(partSize) - 1) / Int(partSize)
        #expect(counting.count(.put) == partCount - 2, "two parts were on the store")
        try await second.delete(key, abandoning: nil)
        await second.shutdown()
    }

    @Test("Another user's token is refused in every operation", arguments: SigningServerProcess.all)
    func foreign(_ server: SigningServerProcess) async throws {
        let key = try key()
        let mine = try server.storage()
        _ = try await mine.upload(.temporary([1, 2, 3]), to: key, session: UploadSession())
        let other = try server.storage(token: server.accessKey)
        let namespace = String(key.rawValue.prefix { $0 != "/" }) + "/"
        for error in [
            try await storageError { try await other.upload(.temporary([1]), to: key, session: UploadSession()) },
            try await storageError { try await other.download(DownloadRequest(key), into: DownloadSink { _ in }) },
            try await storageError { try await other.head(key) },
            try await storageError { try await other.delete(key, abandoning: nil) },
            try await storageError { try await other.list(ListRequest(prefix: namespace)) },
        ] { #expect(error?.code == .forbidden, "\(error?.message ?? "no error")") }
        #expect(try await mine.head(key).byteCount == 3)
        try await mine.delete(key, abandoning: nil)
        await mine.shutdown()
        await other.shutdown()
    }

    @Test("A forged upload token or another user's is refused", arguments: SigningServerProcess.all)
    func forged(_ server: SigningServerProcess) async throws {
        let (bytes, key) = (SampleBytes.make(32 << 20), try key())
        let mine = try server.storage()
        let ask = SignRequest(try .temporary(bytes), to: key, md5: String(repeating: "0", count: 32))
        let parts = try await mine.client.ask(.upload, object: ask.object(replaces: false)).requireNoError(key).parts
        let token = try #require(parts?.upload)
        let other = try server.storage(token: server.accessKey)
        for (storage, token) in [(other, token), (mine, token.dropLast() + "x"), (mine, "x" + token), (mine, "a.b")] {
            for operation in [SigningOperation.state, .complete, .parts, .abort] {
                var object = SigningObject(size: 1 << 20, sha256: SampleBytes.sha256([1]))
                object.upload = token
                object.number = 1
                object.partsSHA256 = SampleBytes.sha256([1])
                object.md5 = String(repeating: "0", count: 32)
                object.partsMD5 = object.md5
                #expect(
                    try await storage.client.ask(operation, object: object).error?.code == .lostUpload, "\(operation)")
            }
        }
        let checkpoint = try PartsCheckpoint(upload: token, partSize: 1 << 20, .temporary(bytes)).encoded()
        try await mine.delete(key, abandoning: checkpoint)
        await mine.shutdown()
        await other.shutdown()
    }

    @Test("A wrong token is refused without appearing in the error", arguments: SigningServerProcess.all)
    func wrongToken(_ server: SigningServerProcess) async throws {
        let storage = try server.storage(token: Canary.token)
        let key = try key()
        let error = try await storageError { try await storage.head(key) }
        #expect(error?.code == .unauthorized)
        await storage.shutdown()
    }

    static func transport() -> any HTTPTransport {
        var options = HTTPOptions()
        options.allowsPlainHTTP = true
        return DefaultTransport.make(options)
    }
}

/// A transport that counts requests. The mutex owns the counts.
final class CountingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let methods = Mutex<[HTTPRequest.Method]>([])

    init(base: any HTTPTransport) { self.base = base }

    func count(_ method: HTTPRequest.Method) -> Int { methods.withLock { $0.count { $0 == method } } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        methods.withLock { $0.append(request.method) }
        return try await base.send(request)
    }

    func shutdown() async { await base.shutdown() }
}
