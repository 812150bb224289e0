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
    /// The rows of the table in the guide, in order.
    private static let legal: [[Bool]] = [
        [true, true, true], [true, true, true], [true, true, true],
        [true, false, false], [true, false, false], [true, false, false],
    ]

    @Test("Each pair of domain and security works or is refused at opening")
    func pairs() async throws {
        for (row, domain) in Self.domains.enumerated() {
            for (column, security) in Self.securities.enumerated() {
                try await withPlace { place in
                    let key = StorageKey<String>("pair", domain: domain, security: security)
                    guard Self.legal[row][column] else {
                        return await expectFailure(.illegalPair, comment: "\(domain), \(security)") {
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

    @Test("A default in place of an unreadable value is refused for secrets", arguments: [Store.encrypted, .keychain])
    func defaults(store: Store) async throws {
        try await withPlace { place in
            let key = StorageKey<Int>(
                "secret", default: 1, domain: store.domain, security: store.security, onUndecodable: .useDefault)
            await expectFailure(.illegalPair) { _ = try await place.open { key } }
        }
    }

    @Test("A missing key chain or root key option is an error without a fallback")
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

    @Test("A database without the tables is an error that names the missing call")
    func tables() async throws {
        let database = try DatabaseQueue()
        await expectFailure(.notMigrated) {
            _ = try await StorageRouter.open(database, catalogs: [StorageCatalog("app") { StorageKey<Int>("key") }])
        }
    }
}
