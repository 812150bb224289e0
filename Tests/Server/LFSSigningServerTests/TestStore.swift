import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSS3
@testable import LFSSigningServer

/// A store for signed requests: a folder, or a server that `Tests/Servers/with` has started.
struct TestStore: Sendable, CustomTestStringConvertible {
    struct Server: Codable, Sendable {
        var name: String
        var profile: String
        var endpoint: URL
        var accessKey: String
        var secretKey: String
        var region: String
    }

    /// Nil for the folder and for containers.
    let server: Server?
    let container: TestContainer?

    init(server: Server? = nil, container: TestContainer? = nil) {
        self.server = server
        self.container = container
    }

    var testDescription: String { server?.name ?? container?.testDescription ?? "folder" }

    /// The stores whose signatures cover length, content and condition.
    static let all: [TestStore] =
        [TestStore()] + servers("LFS_S3_SERVERS").filter { $0.profile != "webdav" }.map { TestStore(server: $0) }
        + servers("LFS_AZURE_SERVERS").map { TestStore(container: TestContainer(server: $0, byKey: false)) }

    /// All stores, including those whose signatures cover only the object and the time.
    static let allAndLoose: [TestStore] =
        all + servers("LFS_AZURE_SERVERS").map { TestStore(container: TestContainer(server: $0, byKey: true)) }

    static func servers<Value: Decodable>(_ variable: String) -> [Value] {
        guard let text = ProcessInfo.processInfo.environment[variable] else { return [] }
        do {
            return try JSONDecoder().decode([Value].self, from: Data(text.utf8))
        } catch {
            fatalError("\(variable) cannot be read: \(error)")
        }
    }

    /// A size of two parts and a remainder.
    var largeByteCount: Int { 2 * Int(partSize) + 1_000 }
    var partSize: Int64 { server == nil ? 1 << 20 : 5 << 20 }
    /// Returns the URL of a part, changed to that of another part.
    func href(_ action: SigningAction, as other: SigningAction) -> String {
        let name = server == nil ? container == nil ? "part" : "blockid" : "partNumber"
        func value(_ href: String) -> String {
            let parameters = href.split(separator: "?").last?.split(separator: "&") ?? []
            return parameters.first { $0.hasPrefix(name + "=") }.map(String.init) ?? ""
        }
        return action.href.replacingOccurrences(of: value(action.href), with: value(other.href))
    }

    /// Indicates that the reply to an upload proves the stored bytes.
    var provesBytes: Bool { container?.byKey != true }
    /// Indicates that the store tracks an upload in parts from its beginning to its end.
    var knowsUploads: Bool { container == nil }

    /// Indicates that the store joins no parts under a key that has an object.
    var joinsConditionally: Bool {
        guard let server else { return container == nil }
        return S3Provider.named(server.profile)?.completesConditionally ?? false
    }

    /// Runs a test with a newly opened store below its own prefix.
    ///
    /// - Parameter offset: the offset of the signing clock in seconds.
    func open<Result>(
        signedAt offset: TimeInterval = 0, _ body: (OpenStore) async throws -> Result
    ) async throws -> Result {
        try await withTemporaryFolder { folder in
            let secret = try SigningSecret(Data(repeating: 7, count: 32))
            let clock = TestClock(offset)
            if let container {
                return try await container.open(clock) { storage in
                    try await body(
                        OpenStore(backend: .azure(storage), secret: secret, clock: clock, container: storage))
                }
            }
            guard let server else {
                let backend = try SigningBackend.directory(
                    at: folder, publicURL: #require(URL(string: "http://app.example/lfs")), secret: secret,
                    parts: FolderPartOptions(threshold: 1 << 20, size: 1 << 20), now: { clock.now })
                return try await body(OpenStore(backend: backend, secret: secret, clock: clock))
            }
            var options = S3Options()
            options.allowsPlainHTTP = true
            options.provider = S3Provider.named(server.profile)
            options.multipartThreshold = 8 << 20
            options.partSize = 5 << 20
            let location = try S3Location(
                bucket: Self.bucket, prefix: UUID().uuidString.lowercased(), endpoint: server.endpoint,
                addressing: .path)
            let credentials = S3Credentials(accessKeyID: server.accessKey, secretAccessKey: server.secretKey)
            let storage = try S3Storage(
                location, region: server.region, credentials: .static(credentials), options: options,
                clock: SigningClock { clock.now })
            try await TestBuckets.shared.require(server)
            let store = OpenStore(backend: .s3(storage), secret: secret, clock: clock)
            let result = try await body(store)
            await storage.shutdown()
            return result
        }
    }

    static let bucket = "lfs-sign-\(UInt32.random(in: 0...UInt32.max))"
}

/// A clock with an offset. The mutex owns its state.
final class TestClock: Sendable {
    private let offset: Mutex<TimeInterval>

    init(_ offset: TimeInterval) { self.offset = Mutex(offset) }

    var now: Date { Date().addingTimeInterval(offset.withLock { $0 }) }
    func advance(by seconds: TimeInterval) { offset.withLock { $0 += seconds } }
}

/// Makes the bucket once on each server. The actor owns its state.
actor TestBuckets {
    static let shared = TestBuckets()
    private var made: [String: Task<Void, any Error>] = [:]

    func require(_ server: TestStore.Server) async throws {
        if let task = made[server.name] { return try await task.value }
        let task = Task {
            var options = S3Options()
            options.allowsPlainHTTP = true
            let credentials = S3Credentials(accessKeyID: server.accessKey, secretAccessKey: server.secretKey)
            let storage = try S3Storage(
                bucket: TestStore.bucket, region: server.region, endpoint: server.endpoint, addressing: .path,
                credentials: .static(credentials), options: options)
            var request = S3Request(.put)
            request.body = .bytes([])
            _ = try await storage.client.send(request)
            await storage.shutdown()
        }
        made[server.name] = task
        try await task.value
    }
}
