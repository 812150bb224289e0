import Crypto
import Foundation
import GRDB
import LFSSettings

/// A probe that compares settings with handwritten code.
package struct SettingsProbe: Sendable {
    /// The folder of the databases.
    package var folder: String
    /// The number of turns of each way.
    package var turns: Int
    /// A text that the name of a measured contest must contain.
    package var only: String

    package init(folder: String, turns: Int, only: String) {
        self.folder = folder
        self.turns = turns
        self.only = only
    }

    package func run() async throws -> ContestSample {
        let host = try await SettingsHost.open(in: folder)
        var contests = [
            try await get(host), try await set(host), try await durableSet(host), try await batch(host),
            try await file(host), try await opening(host),
        ]
        contests += try await encryption(host)
        contests += [try await observers(host), try await userDefaults(host)]
        try await host.router.stop()
        return ContestSample(contests: contests.compactMap(\.self))
    }

    private func get(_ host: SettingsHost) async throws -> Contest? {
        try await RoundRobin(count: turns, calls: 1_000, only: only).measure(
            "get",
            ways: [
                ("get", { call in _ = try await host.router.get(SettingsHost.keys[call % SettingsHost.count]) }),
                (
                    "read and fetchOne",
                    { call in _ = try await host.pool.read { db in try SettingsHost.get(call % SettingsHost.count, db) }
                    }
                ),
            ], bar: 1.5)
    }

    private func set(_ host: SettingsHost) async throws -> Contest? {
        try await RoundRobin(count: turns, calls: 500, only: only).measure(
            "set", ways: [("set", Self.set(host)), ("write and upsert", Self.upsert(host))], bar: 1.25)
    }

    private static func set(_ host: SettingsHost) -> (Int) async throws -> Void {
        { call in try await host.router.set(call, for: SettingsHost.keys[call % SettingsHost.count]) }
    }

    private static func upsert(_ host: SettingsHost) -> (Int) async throws -> Void {
        { call in
            // The value always changes, because SQLite writes nothing for an equal one.
            let (index, value) = (call % SettingsHost.count, SettingsHost.count + call)
            try await host.pool.write { db in try SettingsHost.put(index, value: value, db) }
        }
    }

    private func durableSet(_ host: SettingsHost) async throws -> Contest? {
        let full = try await SettingsHost.open(in: folder, "full", isFull: true)
        return try await RoundRobin(count: turns, calls: 50, only: only).measure(
            "set, on the device",
            ways: [
                ("set of a durable key", { call in try await host.router.set(call, for: SettingsHost.durable) }),
                ("write and upsert, synchronous=FULL", Self.upsert(full)),
            ], bar: 1.25)
    }

    private func batch(_ host: SettingsHost) async throws -> Contest? {
        try await RoundRobin(count: turns, calls: 20, only: only).measure(
            "100 in one transaction",
            ways: [
                (
                    "write and set",
                    { call in
                        try await host.router.write { batch in
                            for index in 0..<100 { try batch.set(call, for: SettingsHost.keys[index]) }
                        }
                    }
                ),
                (
                    "write and upsert",
                    { call in
                        try await host.pool.write { db in
                            for index in 0..<100 { try SettingsHost.put(index, value: call, db) }
                        }
                    }
                ),
            ], bar: 1.2)
    }

    private func file(_ host: SettingsHost) async throws -> Contest? {
        let bytes = Data(repeating: 65, count: 1_024)
        let bare = BareFile(folder: folder, name: "bare")
        return try await RoundRobin(count: turns, calls: 50, only: only).measure(
            "file of 1 KiB",
            ways: [
                ("set", { _ in try await host.router.set(bytes, for: SettingsHost.file) }),
                ("write, fsync, rename, fsync of the folder", { call in try bare.replace(with: bytes, call) }),
            ], bar: 1.2)
    }

    private func opening(_ host: SettingsHost) async throws -> Contest? {
        let pool = host.pool
        return try await RoundRobin(count: turns, calls: 10, only: only).measure(
            "open with 1,000 keys",
            ways: [
                ("open and stop", { _ in try await SettingsHost.openRouter(pool).stop() }),
                (
                    "one SELECT of all",
                    { _ in
                        _ = try await pool.read { db in
                            try Row.fetchAll(db, sql: "SELECT name, value, serializer, version FROM lfs_setting").count
                        }
                    }
                ),
            ], bar: 2)
    }

    /// Measures a kibibyte with encryption, in plain text, and as cryptography without a database.
    private func encryption(_ host: SettingsHost) async throws -> [Contest?] {
        let bytes = Data(repeating: 65, count: 1_024)
        let cipher = BareCipher()
        let sealed = try cipher.seal(bytes)
        try await host.router.set(bytes, for: SettingsHost.plain)
        try await host.router.set(bytes, for: SettingsHost.encrypted)
        let turns = RoundRobin(count: turns, calls: 1_000, only: only)
        return [
            try await turns.measure(
                "get, encrypted",
                ways: [
                    ("get, encrypted", { _ in _ = try await host.router.get(SettingsHost.encrypted) }),
                    ("get, plain", { _ in _ = try await host.router.get(SettingsHost.plain) }),
                    ("HKDF and AES-GCM", { _ in _ = try cipher.open(sealed) }),
                ], figure: .surplus, bar: 1.3),
            try await turns.measure(
                "set, encrypted",
                ways: [
                    ("set, encrypted", { _ in try await host.router.set(bytes, for: SettingsHost.encrypted) }),
                    ("set, plain", { _ in try await host.router.set(bytes, for: SettingsHost.plain) }),
                    ("HKDF and AES-GCM", { _ in _ = try cipher.seal(bytes) }),
                ], figure: .surplus, bar: 1.3),
        ]
    }

    /// Measures the app's own writes with a thousand observers of settings, and in a database without observers.
    private func observers(_ host: SettingsHost) async throws -> Contest? {
        let alone = try await SettingsHost.open(in: folder, "alone")
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for key in SettingsHost.keys {
                let values = host.router.values(of: key)
                group.addTask { for try await _ in values {} }
            }
            let contest = try await RoundRobin(count: turns, calls: 500, only: only).measure(
                "the app's own write, 1,000 observers",
                ways: [
                    ("observed", { call in try await host.pool.write { db in try SettingsHost.note(call, db) } }),
                    ("alone", { call in try await alone.pool.write { db in try SettingsHost.note(call, db) } }),
                ], bar: 1.1)
            group.cancelAll()
            return contest
        }
    }

    /// The contest has no bar, because UserDefaults syncs nothing to disk.
    private func userDefaults(_ host: SettingsHost) async throws -> Contest? {
        guard let defaults = UserDefaults(suiteName: "lfs-bench") else { throw BenchError("No UserDefaults here.") }
        return try await RoundRobin(count: turns, calls: 100, only: only).measure(
            "beside UserDefaults",
            ways: [
                ("set", Self.set(host)), ("UserDefaults, in memory", { call in defaults.set(call, forKey: "key") }),
                (
                    "UserDefaults and synchronize()",
                    { call in
                        defaults.set(call, forKey: "key")
                        guard defaults.synchronize() else { throw BenchError("UserDefaults were not written.") }
                    }
                ),
            ], bar: nil)
    }
}
