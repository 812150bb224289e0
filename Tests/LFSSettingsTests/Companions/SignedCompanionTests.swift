import Foundation
import LFSSignedURL
import LFSStorage
import TestSupport
import Testing

@testable import LFSSettings

/// Devices that meet on the app's own server, which `Tests/Servers/with` has started with a store behind it.
@Suite(
    "Settings of several devices come together by a server that knows its users",
    .enabled(if: !StartedServer.signing.isEmpty), .serialized, .timeLimit(.minutes(10)))
struct SignedCompanionTests {
    @Test("Those of a user end equal, and nothing comes back", arguments: StartedServer.signing)
    func converge(_ server: StartedServer) async throws {
        let (storage, account) = (try server.storage(server.secretKey), StartedServer.newAccount())
        try await forEachOnAllProcessors(CompanionModel.seeds.prefix(12)) { seed in
            try await CompanionModel(seed: seed) {
                try RemoteStorageTransport(storage, prefix: "\(account)/seed-\(seed)")
            }.run()
        }
        await storage.shutdown()
    }

    @Test("Another user hears nothing of them, and changes none", arguments: StartedServer.signing)
    func others(_ server: StartedServer) async throws {
        let account = StartedServer.newAccount()
        let (storage, foreign) = (try server.storage(server.secretKey), try server.storage(server.accessKey))
        let world = World()
        func device(_ storage: SignedURLStorage) async throws -> CompanionDevice {
            try await CompanionDevice(
                world, [try RemoteStorageTransport(storage, prefix: account, isConfidential: true)])
        }
        let (first, second, other) = (try await device(storage), try await device(storage), try await device(foreign))
        try await first.set(1)
        try await first.synchronize()
        try await other.set(2, 1)
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

    /// What the devices of a user have in common. The first who writes below it has it.
    static func newAccount() -> String { "account-\(UUID().uuidString.lowercased())" }

    func storage(_ token: String) throws -> SignedURLStorage {
        var options = SignedURLOptions()
        options.allowsPlainHTTP = true
        return try SignedURLStorage(server: endpoint, authorization: .bearer { _ in token }, options: options)
    }
}
