import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Key migrations", .serialized, .timeLimit(.minutes(10)))
struct KeyMigrationTests {
    private static let kinds = ["legacy", "transform", "condition", "several"]
    private static let expected = ["legacy": "old", "transform": "5", "condition": "old", "several": "old"]

    private let legacy = StorageKey<String>("legacy")

    private func number(_ place: Place) -> StorageKey<Int> {
        StorageKey("number", domain: .file(in: .folder(place.folder.child("old").path)))
    }

    /// Stores the values of an earlier version of the app.
    private func withSources(_ body: (Place, StorageKey<Int>) async throws -> Void) async throws {
        try await withPlace { place in
            let number = number(place)
            let storage = try await place.open {
                legacy
                number
            }
            try await storage.set("old", for: legacy)
            try await storage.set(5, for: number)
            try await body(place, number)
        }
    }

    private func migrations(_ kind: String, number: StorageKey<Int>) -> [KeyMigration<String>] {
        switch kind {
        case "legacy": [.legacy(from: legacy)]
        case "transform": [.transform(from: number) { "\($0)" }]
        case "condition": [.ifPreviousApp(.below("2.0"), migration: .legacy(from: legacy))]
        default: [.legacy(from: StorageKey("nowhere")), .legacy(from: legacy)]
        }
    }

    /// Returns the sources that still exist.
    private func sources(_ place: Place, number: StorageKey<Int>) async throws -> [String] {
        let storage = try await place.open {
            legacy
            number
        }
        var there: [String] = []
        if try await storage.exists(legacy) { there.append("legacy") }
        if try await storage.exists(number) { there.append("number") }
        return there
    }

    @Test("Each kind of migration takes the value over once and then removes the source", arguments: kinds, Store.kept)
    func each(kind: String, store: Store) async throws {
        try await withSources { place, number in
            let key = StorageKey<String>(
                "migrated", domain: store.domain, security: store.security,
                migrations: migrations(kind, number: number))
            let storage = try await place.open { key }
            #expect(try await storage.get(key) == Self.expected[kind])
            let left = try await sources(place, number: number)
            #expect(!left.contains("legacy") || kind == "transform")
            #expect(!left.contains("number") || kind != "transform")
            // A removed value does not return, even if the source is set again.
            try await storage.remove(key)
            let earlier = try await place.open { legacy }
            try await earlier.set("again", for: legacy)
            #expect(try await place.open { key }.getIfPresent(key) == nil)
        }
    }

    @Test("A migration does not overwrite an existing value and keeps the source", arguments: kinds)
    func standing(kind: String) async throws {
        try await withSources { place, number in
            let plain = StorageKey<String>("migrated")
            try await place.open { plain }.set("standing", for: plain)
            let key = StorageKey<String>("migrated", migrations: migrations(kind, number: number))
            #expect(try await place.open { key }.get(key) == "standing")
            #expect(try await sources(place, number: number) == ["legacy", "number"])
        }
    }

    @Test(
        "A migration killed at any step completes at the next open",
        arguments: ["database", "file", "keychain", "encrypted"])
    func kill(domain: String) async throws {
        let store = try #require(Store(rawValue: domain))
        var total = 0
        // The database runs each kind. The other domains run the one whose source is a file.
        for kind in store == .database ? Self.kinds : ["transform"] {
            for number in 1...400 {
                var hasFired = false
                try await withSources { place, old in
                    let run = HelperRun("migrate", in: place.folder, arguments: domain, kind)
                    hasFired = try await run.finish(failing: number, .kill).hasFired
                    let key = StorageKey<String>(
                        "migrated", domain: store.domain, security: store.security,
                        migrations: migrations(kind, number: old))
                    // At each moment the value exists in at least one place.
                    let bare = StorageKey<String>("migrated", domain: store.domain, security: store.security)
                    let isThere = try await place.open { bare }.exists(bare)
                    let left = try await sources(place, number: old)
                    if !isThere {
                        #expect(left.contains(kind == "transform" ? "number" : "legacy"), "\(kind) \(number)")
                    }
                    #expect(try await place.open { key }.getIfPresent(key) == Self.expected[kind], "\(kind) \(number)")
                    let after = try await sources(place, number: old)
                    #expect(after == (kind == "transform" ? ["legacy"] : ["number"]))
                }
                if !hasFired { break }
                total += 1
            }
        }
        #expect(total >= 8, "Only \(total) operations were killed.")
    }

    @Test("Two processes that migrate concurrently end with one value", arguments: ["database", "file", "keychain"])
    func twice(domain: String) async throws {
        for kind in ["legacy", "transform"] {
            try await withSources { place, number in
                let words = try await withThrowingTaskGroup(of: String?.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            try await HelperRun("migrate", in: place.folder, arguments: domain, kind)
                                .finish().word
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(words == ["ok", "ok"], "\(kind)")
                let store = try #require(Store(rawValue: domain))
                let key: StorageKey<String> = store.key("migrated")
                #expect(try await place.open { key }.getIfPresent(key) == Self.expected[kind], "\(kind)")
            }
        }
    }

    private struct Canary: Error {}

    @Test("A throwing transform keeps the source and the key pending until a later open")
    func throwing() async throws {
        try await withSources { place, number in
            let log = LogLines()
            let fails = Mutex(true)
            let key = StorageKey<String>(
                "migrated", default: "default",
                migrations: [
                    .transform(from: number) { value in
                        if fails.withLock({ $0 }) { throw Canary() }
                        return "\(value)"
                    }
                ])
            let other = StorageKey<Int>("other", default: 3)
            var options = place.options
            options.logger = log.logger
            options.appVersion = "2.0"
            let storage = try await place.open(options) {
                key
                other
            }
            await expectFailure(.migrationPending) { _ = try await storage.get(key) }
            await expectFailure(.migrationPending) { _ = try await storage.exists(key) }
            await expectFailure(.migrationPending) { try await storage.update(key) { $0 += "x" } }
            await expectFailure(.migrationPending) { for try await _ in storage.values(of: key) {} }
            await expectFailure(.migrationPending) { _ = try await storage.snapshot().get(key) }
            #expect(try await storage.get(other) == 3)
            #expect(try await storage.audit().pendingMigrations == ["migrated"])
            #expect(log.all.count == 1)
            #expect(try await sources(place, number: number).contains("number"))
            fails.withLock { $0 = false }
            #expect(try await place.open { key }.get(key) == "5")
        }
    }

    @Test("A locked source keeps the key pending until it is unlocked")
    func locked() async throws {
        try await withPlace { place in
            let secret = StorageKey<String>("secret", security: .encrypted)
            let isOpen = Mutex(true)
            func options(_ version: String) -> StorageOptions {
                let root = KeySource.custom {
                    guard isOpen.withLock({ $0 }) else {
                        throw SettingsError(.locked, message: "The device is locked.")
                    }
                    return SymmetricKey(data: Data(repeating: 3, count: 32))
                }
                return StorageOptions(appVersion: version, rootKey: root)
            }
            try await place.open(options("1.0")) { secret }.set("value", for: secret)
            let key = StorageKey<String>(
                "key", security: .encrypted,
                migrations: [.ifPreviousApp(.below("2.0"), migration: .legacy(from: secret))])
            isOpen.withLock { $0 = false }
            let storage = try await place.open(options("2.0")) { key }
            await expectFailure(.migrationPending) { _ = try await storage.get(key) }
            isOpen.withLock { $0 = true }
            #expect(try await place.open(options("2.0")) { key }.get(key) == "value")
        }
    }

    @Test("A version condition tests the version that wrote the data")
    func conditions() async throws {
        #expect(try await value("a", condition: .below("1.9"), from: "1.9") == nil)
        #expect(try await value("b", condition: .below("1.10"), from: "1.9") == "b old")
        // Data without a recorded version counts as older than any version.
        #expect(try await value("e", condition: .below("0.1"), from: nil) == "e old")
    }

    /// Returns the value that version 3.1 takes over from data of another version.
    private func value(_ name: String, condition: AppVersionCondition, from previous: String?) async throws -> String? {
        var value: String?
        try await withPlace { place in
            var options = place.options
            options.appVersion = previous
            try await place.open(options) { legacy }.set("old", for: legacy)
            options.appVersion = "3.1"
            let key = StorageKey<String>(
                name, migrations: [.ifPreviousApp(condition, migration: .transform(from: legacy) { "\(name) \($0)" })])
            value = try await place.open(options) { key }.getIfPresent(key)
            let version = try await place.database.read {
                try String.fetchOne($0, sql: "SELECT appVersion FROM lfs_setting_catalog")
            }
            #expect(version == "3.1")
        }
        return value
    }

    @Test(
        "App versions are compared by their numbers",
        arguments: [
            ("1.9", "1.10"), ("1", "1.0.1"), ("2.0-beta", "2.0"), ("2.0-alpha", "2.0-beta"), ("1.2.3", "1.3"),
            ("", "0.1"),
        ])
    func versions(lower: String, higher: String) async throws {
        #expect(try await isTaken(from: lower, below: higher))
        #expect(try await !isTaken(from: higher, below: lower))
        #expect(try await !isTaken(from: lower, below: lower))
    }

    /// Returns true if data of one version is taken over on the condition that it is below another one.
    private func isTaken(from previous: String, below bound: String) async throws -> Bool {
        var isTaken = false
        try await withPlace { place in
            let key = StorageKey<String>(
                "key", migrations: [.ifPreviousApp(.below(bound), migration: .transform(from: legacy) { $0 })])
            try await place.open { legacy }.set("x", for: legacy)
            try await place.execute("UPDATE lfs_setting_catalog SET appVersion = ?", arguments: [previous])
            isTaken = try await place.open { key }.exists(key)
        }
        return isTaken
    }

    @Test("A migration that reads the key's own place is refused")
    func inPlace() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("legacy", migrations: [.transform(from: legacy) { Int($0) }])
            await expectFailure(.illegalPair) { _ = try await place.open { key } }
        }
    }

    @Test("A migration removes its source, but no other source of the same name and kind")
    func sameName() async throws {
        try await withPlace { place in
            let folders = ["one", "two"].map { StorageDomain.file(in: .folder(place.folder.child($0).path)) }
            let earlier = folders.map { StorageKey<String>("token", domain: $0) }
            for (number, source) in earlier.enumerated() {
                try await place.open { source }.set("value \(number)", for: source)
            }
            let key = StorageKey<String>("migrated", migrations: earlier.map { .legacy(from: $0) })
            #expect(try await place.open { key }.get(key) == "value 0")
            #expect(try await place.open { earlier[0] }.getIfPresent(earlier[0]) == nil)
            #expect(try await place.open { earlier[1] }.getIfPresent(earlier[1]) == "value 1")
        }
    }

    @Test("The migrations of a family's pattern move no value")
    func family() async throws {
        try await withSources { place, _ in
            let family = StorageKey<String>.Family(StorageKey("family", migrations: [.legacy(from: legacy)]))
            let storage = try await place.open { family }
            #expect(try await storage.getIfPresent(family["member"]) == nil)
            #expect(try await place.open { legacy }.get(legacy) == "old")
        }
    }

    // MARK: UserDefaults

    /// Runs a body with a suite that Foundation has written, and its file.
    private func withSuite(_ body: (Place, String, URL) async throws -> Void) async throws {
        try await withPlace { place in
            let suite = "lfs-test-\(UUID().uuidString)"
            let defaults = try #require(UserDefaults(suiteName: suite))
            defaults.set(true, forKey: "wifi")
            defaults.set(4, forKey: "tiles")
            defaults.set("dark", forKey: "theme")
            #expect(defaults.synchronize())
            let config = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? "\(NSHomeDirectory())/.config"
            let file = URL(fileURLWithPath: config).child("\(suite).plist")
            try #require(FileManager.default.fileExists(atPath: file.path), "Foundation keeps it elsewhere")
            try await body(place, suite, file)
            try FileManager.default.removeItem(at: file)
        }
    }

    private func keys(_ suite: String) -> (StorageKey<Bool>, StorageKey<Int>, StorageKey<String>) {
        let domain = StorageDomain.userDefaults(suite: suite)
        return (
            StorageKey("wifi", default: false, migrations: [.legacy(from: StorageKey("wifi", domain: domain))]),
            StorageKey("tiles", default: 1, migrations: [.legacy(from: StorageKey("tiles", domain: domain))]),
            StorageKey("theme", default: "light", migrations: [.legacy(from: StorageKey("theme", domain: domain))])
        )
    }

    @Test("Values of UserDefaults are taken over, and their file stays on Linux")
    func userDefaults() async throws {
        try await withSuite { place, suite, file in
            let before = try Data(contentsOf: file)
            let (wifi, tiles, theme) = keys(suite)
            let storage = try await place.open {
                wifi
                tiles
                theme
            }
            #expect(try await storage.get(wifi))
            #expect(try await storage.get(tiles) == 4)
            #expect(try await storage.get(theme) == "dark")
            #expect(try Data(contentsOf: file) == before)
            try await storage.set(false, for: wifi)
            #expect(try await place.open { wifi }.get(wifi) == false)
        }
    }

    @Test("A torn file of UserDefaults keeps the keys pending and stays unchanged")
    func tornUserDefaults() async throws {
        try await withSuite { place, suite, file in
            let bytes = try Data(contentsOf: file)
            let (wifi, tiles, _) = keys(suite)
            for count in [0, 1, bytes.count / 2, bytes.count - 12] {
                try bytes.prefix(count).write(to: file)
                let storage = try await place.open {
                    wifi
                    tiles
                }
                await expectFailure(.migrationPending, comment: "\(count) bytes") { _ = try await storage.get(wifi) }
                #expect(try Data(contentsOf: file) == bytes.prefix(count))
            }
            try bytes.write(to: file)
            #expect(try await place.open { tiles }.get(tiles) == 4)
        }
    }
}
