import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Opening of settings", .timeLimit(.minutes(10)))
struct OpeningTests {
    private let plain = StorageKey<Int>("plain", default: 0)
    private let secret: StorageKey<String> = Store.encrypted.key("secret")
    private let filed: StorageKey<String> = Store.file.key("filed")

    /// Returns options whose root key source runs a body before it returns the next of these keys. The last key
    /// repeats.
    private func options(
        _ roots: [SymmetricKey], _ meanwhile: @escaping @Sendable (_ call: Int) async throws -> Void = { _ in }
    ) -> StorageOptions {
        let calls = Counter()
        return StorageOptions(
            rootKey: .custom(
                load: {
                    let call = calls.next()
                    try await meanwhile(call)
                    return roots[min(call, roots.count - 1)]
                }, store: { _ in }))
    }

    private func open(_ place: Place, options: StorageOptions, version: Int = 1) async throws -> StorageRouter {
        try await place.open(options, version: version) {
            plain
            secret
            filed
        }
    }

    @Test("Opening fails if another process upgrades the data at the same time")
    func newerMeanwhile() async throws {
        try await withPlace { place in
            let root = SymmetricKey(size: .bits256)
            try await open(place, options: options([root])).set(1, for: plain)
            let slow = options([root]) { _ in
                try await place.execute("UPDATE lfs_setting_catalog SET version = 2")
            }
            await expectFailure(.newerData) { _ = try await open(place, options: slow) }
            #expect(try await open(place, options: options([root]), version: 2).get(plain) == 1)
        }
    }

    @Test("A cancelled open returns no router")
    func cancelled() async throws {
        try await withPlace { place in
            let root = SymmetricKey(size: .bits256)
            try await open(place, options: options([root])).set("value", for: secret)
            let cancelling = options([root]) { _ in withUnsafeCurrentTask { $0?.cancel() } }
            await #expect(throws: CancellationError.self) {
                try await Task { _ = try await open(place, options: cancelling) }.value
            }
            #expect(try await open(place, options: options([root])).get(secret) == "value")
        }
    }

    @Test("After a reset during opening, new values are encrypted with the new root key")
    func replacedMeanwhile() async throws {
        try await withPlace { place in
            let (former, new) = (SymmetricKey(size: .bits256), SymmetricKey(size: .bits256))
            let first = try await open(place, options: options([former]))
            try await first.set("value", for: secret)
            let late = try await open(
                place,
                options: options([former, new]) { call in
                    if call == 0 { try await first.removeAll() }
                })
            try await place.database.write { db in try late.set("new", for: secret, in: db) }
            #expect(try await open(place, options: options([new])).get(secret) == "new")
        }
    }

    @Test(
        "Plain values work although a table of keys or folders is missing",
        arguments: ["lfs_setting_key", "lfs_setting_folder"])
    func damagedTable(table: String) async throws {
        try await withPlace { place in
            let root = SymmetricKey(size: .bits256)
            let storage = try await open(place, options: options([root]))
            try await storage.set("value", for: secret)
            try await storage.set("value", for: filed)
            try await place.execute("DROP TABLE \(table)")
            let again = try await open(place, options: options([root]))
            try await again.set(1, for: plain)
            #expect(try await again.get(plain) == 1)
            if table == "lfs_setting_key" {
                await expectFailure(.database) { _ = try await again.get(secret) }
            } else {
                #expect(try await again.get(secret) == "value")
            }
        }
    }

    #if os(Linux)
    @Test("Folder names that differ only in Unicode normalization are separate folders")
    func spellings() async throws {
        try await withPlace { place in
            let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
            func open(_ folder: String) async throws -> (StorageRouter, StorageKey<String>) {
                let key = StorageKey<String>(
                    "filed", domain: .file(in: .folder(place.folder.path + "/" + folder)))
                return (try await place.open { key }, key)
            }
            let (storage, key) = try await open(composed)
            try await storage.set("composed", for: key)
            let (other, otherKey) = try await open(decomposed)
            #expect(try await other.getIfPresent(otherKey) == nil)
            try await other.set("decomposed", for: otherKey)
            #expect(try await storage.get(key) == "composed")
        }
    }
    #endif
}

/// A counter that starts at 0.
private final class Counter: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}
