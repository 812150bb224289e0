import Foundation
import LFSHTTP
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3
@testable import LFSSettings

/// Row 34 on real servers, which `Tests/Servers/with` has started.
@Suite(
    "Settings of several devices come together on a server", .enabled(if: !StartedServer.ofS3.isEmpty), .serialized,
    .timeLimit(.minutes(10)))
struct ServerCompanionTests {
    @Test("In a bucket they end equal, and nothing comes back", arguments: StartedServer.ofS3)
    func bucket(server: StartedServer) async throws {
        let storage = try await server.newBucket()
        try await forEachOnAllProcessors(CompanionModel.seeds) { seed in
            try await CompanionModel(seed: seed) { try RemoteStorageTransport(storage, prefix: "seed-\(seed)") }.run()
        }
        await storage.shutdown()
    }
}

/// A server of S3.
extension StartedServer {
    /// Others than SeaweedFS may list an object some time after it is there, where one more round would be needed than
    /// is made.
    static let ofS3 = StartedServers.all { $0.name == "seaweedfs" }

    fileprivate func newBucket() async throws -> S3Storage {
        var options = S3Options()
        options.allowsPlainHTTP = true
        options.provider = S3Provider.named(profile)
        let storage = try S3Storage(
            bucket: "settings-\(UInt32.random(in: 0...UInt32.max))", region: region, endpoint: endpoint,
            credentials: .static(S3Credentials(accessKeyID: accessKey, secretAccessKey: secretKey)), options: options)
        var request = S3Request(.put)
        request.body = .bytes([])
        _ = try await storage.client.send(request)
        return storage
    }
}
