import Foundation
import LFSSignedURL
import LFSStorage
import TestSupport
import Testing

@testable import LFSSettings

/// Devices that share the app's own server, which `Tests/Servers/with` has started with a store behind it.
@Suite(
    "Companion settings behind a signing server",
    .enabled(if: !StartedServer.signing.isEmpty), .serialized, .timeLimit(.minutes(10)))
struct SignedCompanionTests {
    @Test("The devices of one user converge through a signing server", arguments: StartedServer.signing)
    func converge(_ server: StartedServer) async throws {
        let (storage, account) = (try server.storage(server.secretKey), StartedServer.newAccount())
        try await forEachOnAllProcessors(CompanionModel.seeds.prefix(12)) { seed in
            try await CompanionModel(seed: seed) {
                try RemoteStorageTransport(storage, prefix: "\(account)/seed-\(seed)")
            }.run()
        }
        await storage.shutdown()
    }

    @Test("Another user cannot read or change a user's settings", arguments: StartedServer.signing)
    func others(_ server: StartedServer) async throws {
        let account = StartedServer.newAccount()
        let (storage, foreign) = (try server.storage(server.secretKey), try server.storage(server.accessKey))
        let world = World()
        func device(_ storage: SignedURLStorage) async throws -> CompanionDevice {
            try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(storage, prefix: account, isConfidential: true)])
        }
        let (first, second, other) = (try await device(storage), try await device(storage), try await device(foreign))
        try await first.set(1)
        try await first.synchronize()
        try await other.set(2, index: 1)
        let error = await #expect(throws: SettingsError.self) { try await other.synchronize() }
        #expect(error?.code == .transportFailed)
        #expect(((error?.cause as? StorageError)?.code) == .forbidden, "\(String(describing: error))")
        try await second.synchronize()
        #expect(try await second.values() == [1, nil, nil])
        #expect(try await other.values() == [nil, 2, nil])
        await storage.shutdown()
        await foreign.shutdown()
    }
}

/// A signing server.
extension StartedServer {
    static let signing = StartedServers.all { $0.profile == "signed" }

    /// Returns a prefix that the devices of a user share. The first user who writes below it owns it.
    static func newAccount() -> String { "account-\(UUID().uuidString.lowercased())" }

    func storage(_ token: String) throws -> SignedURLStorage {
        var options = SignedURLOptions()
        options.allowsPlainHTTP = true
        return try SignedURLStorage(server: endpoint, authorization: .bearer { _ in token }, options: options)
    }
}
