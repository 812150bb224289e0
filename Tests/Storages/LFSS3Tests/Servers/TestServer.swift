import Foundation
import LFSHTTP
import LFSStorage
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

/// A server that speaks S3.
typealias TestServer = StartedServer

extension StartedServer {
    static let all = StartedServers.all { !["webdav", "signed"].contains($0.profile) }

    static var isAvailable: Bool { !all.isEmpty }

    /// The checks of the contract that this server sometimes fails, and the texts of such failures.
    ///
    /// JuiceFS looks an object up and opens it afterwards. A reader that arrives during a replacement gets the size and
    /// the tag of the old object with the first bytes of the new one. LFS never replaces an object by other content and
    /// compares what it reads with its SHA-256. OpenStack Swift's object server has the same race with its files,
    /// detects it and replies 503. According to its log it did so for 15 of 46,458 readers during a continuous write.
    var sometimesDeviatesIn: [String: String] {
        let replaced = "a reader sees a whole object while it is being replaced"
        return switch name {
        case "juicefs": [replaced: ""]
        case "swift": [replaced: "S3 answered 503"]
        default: [:]
        }
    }

    /// The checks of the contract that this server is known to fail. They have to fail.
    var knownDeviations: Set<String> {
        switch name {
        case "seaweedfs":
            [
                "a listing is in the order of the keys' bytes",
                "the pages of a listing keep to their limit and contain every object once",
            ]
        default: []
        }
    }

    /// rclone uses other element names in its replies and accepts no part a second time.
    var speaksMultipart: Bool { name != "rclone" }

    var credentials: S3Credentials { S3Credentials(accessKeyID: accessKey, secretAccessKey: secretKey) }

    /// The bucket of all tests in this run. Each test uses its own keys and prefixes.
    static let bucket = "lfs-test-\(UInt32.random(in: 0...UInt32.max))"

    /// Returns the options for this server with its own profile.
    func options(_ change: (inout S3Options) -> Void = { _ in }) -> S3Options {
        var options = S3Options()
        options.allowsPlainHTTP = true
        options.provider = S3Provider.named(profile)
        change(&options)
        return options
    }

    func storage(
        prefix: String = "", region: String? = nil, endpoint: URL? = nil, addressing: S3Addressing = .path,
        credentials: S3CredentialsProvider? = nil, _ change: (inout S3Options) -> Void = { _ in }
    ) async throws -> S3Storage {
        try await TestBuckets.shared.require(self)
        return try S3Storage(
            bucket: Self.bucket, prefix: prefix, region: region ?? self.region, endpoint: endpoint ?? self.endpoint,
            addressing: addressing, credentials: credentials ?? .static(self.credentials), options: options(change))
    }
}

/// Makes the bucket once on each server. The actor owns its state.
actor TestBuckets {
    static let shared = TestBuckets()
    private var made: [String: Task<Void, any Error>] = [:]

    func require(_ server: TestServer) async throws {
        if let task = made[server.name] { return try await task.value }
        let task = Task {
            let storage = try S3Storage(
                bucket: TestServer.bucket, region: server.region, endpoint: server.endpoint,
                credentials: .static(server.credentials), options: server.options())
            var request = S3Request(.put)
            request.body = .bytes([])
            _ = try await storage.client.send(request)
            await storage.shutdown()
        }
        made[server.name] = task
        try await task.value
    }
}
