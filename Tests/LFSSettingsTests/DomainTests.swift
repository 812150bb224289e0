import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Domains and securities", .timeLimit(.minutes(10)))
struct DomainTests {
    private static let domains: [StorageDomain] = [
        .database, .database(durability: .full), .file(), .keychain(), .userDefaults(), .memory,
    ]
    private static let securities: [StorageSecurity] = [.none, .encrypted, .encryptedWithChaCha20]
    /// Row by row as the table of the guide has it.
    private static let legal: [[Bool]] = [
        [true, true, true], [true, true, true], [true, true, true],
        [true, false, false], [true, false, false], [true, false, false],
    ]

    @Test("Every pair of domain and security works, or is refused when the router opens")
    func pairs() async throws {
        for (row, domain) in Self.domains.enumerated() {
            for (column, security) in Self.securities.enumerated() {
                try await withPlace { place in
                    let key = StorageKey<String>("pair", domain: domain, security: security)
                    guard Self.legal[row][column] else {
                        return await expectFailure(.illegalPair, "\(domain), \(security)") {
                            _ = try await place.open { key }
                        }
                    }
                    let storage = try await place.open { key }
                    if domain == .userDefaults() {
                        return await expectFailure(.readOnly) { try await storage.set("x", for: key) }
                    }
                    try await storage.set("value", for: key)
                    #expect(try await storage.get(key) == "value", "\(domain), \(security)")
                    if domain == .memory { return }
                    let again = try await place.open { key }.get(key)
                    #expect(again == "value", "\(domain), \(security)")
                }
            }
        }
    }

    @Test("A default in place of what cannot be read is refused for secrets", arguments: [Store.encrypted, .keychain])
    func defaults(store: Store) async throws {
        try await withPlace { place in
            let key = StorageKey<Int>(
                "secret", default: 1, domain: store.domain, security: store.security, onUndecodable: .useDefault)
            await expectFailure(.illegalPair) { _ = try await place.open { key } }
        }
    }

    @Test("A key chain or a root key that no option names is an error, and none is chosen by itself")
    func unnamed() async throws {
        try await withPlace { place in
            for store in [Store.encrypted, .encryptedFile, .keychain] {
                let key: StorageKey<Int> = store.key("key")
                await expectFailure(.notConfigured) { _ = try await place.open(StorageOptions()) { key } }
            }
            let files = try names(in: place.folder).filter { !$0.hasPrefix("app.sqlite") }
            #expect(files == [])
        }
    }

    @Test("A database without the tables is an error that says what to call")
    func tables() async throws {
        let database = try DatabaseQueue()
        await expectFailure(.notMigrated) {
            _ = try await StorageRouter.open(database, catalogs: [StorageCatalog("app") { StorageKey<Int>("key") }])
        }
    }
}
