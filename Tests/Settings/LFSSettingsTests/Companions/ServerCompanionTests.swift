import Foundation
import LFSHTTP
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3
@testable import LFSSettings

/// Row 34 on real servers, which `Tests/Servers/with` has started.
@Suite(
    "Companion settings in a bucket", .enabled(if: !StartedServer.ofS3.isEmpty), .serialized,
    .timeLimit(.minutes(10)))
struct ServerCompanionTests {
    @Test("Devices that share settings in a bucket converge", arguments: StartedServer.ofS3)
    func bucket(server: StartedServer) async throws {
        let storage = try await server.newBucket()
        try await forEachOnAllProcessors(CompanionModel.seeds) { seed in
            try await CompanionModel(seed: seed) { try RemoteStorageTransport(storage, prefix: "seed-\(seed)") }.run()
        }
        await storage.shutdown()
    }
}

/// A server that speaks S3.
extension StartedServer {
    /// Servers other than SeaweedFS may list an object with a delay, which would need one more round than the model
    /// runs.
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
