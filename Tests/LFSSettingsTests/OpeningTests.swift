import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("What happens while settings are opened", .timeLimit(.minutes(10)))
struct OpeningTests {
    private let plain = StorageKey<Int>("plain", default: 0)
    private let secret: StorageKey<String> = Store.encrypted.key("secret")
    private let filed: StorageKey<String> = Store.file.key("filed")

    /// Options with a root key whose source does something before it gives each of these, and then the last one again.
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

    private func open(_ place: Place, _ options: StorageOptions, version: Int = 1) async throws -> StorageRouter {
        try await place.open(options, version: version) {
            plain
            secret
            filed
        }
    }

    @Test("Data that another process takes to a later version meanwhile is refused")
    func newerMeanwhile() async throws {
        try await withPlace { place in
            let root = SymmetricKey(size: .bits256)
            try await open(place, options([root])).set(1, for: plain)
            let slow = options([root]) { _ in
                try await place.execute("UPDATE lfs_setting_catalog SET version = 2")
            }
            await expectFailure(.newerData) { _ = try await open(place, slow) }
            #expect(try await open(place, options([root]), version: 2).get(plain) == 1)
        }
    }

    @Test("An open that is cancelled gives no router")
    func cancelled() async throws {
        try await withPlace { place in
            let root = SymmetricKey(size: .bits256)
            try await open(place, options([root])).set("value", for: secret)
            let cancelling = options([root]) { _ in withUnsafeCurrentTask { $0?.cancel() } }
            await #expect(throws: CancellationError.self) {
                try await Task { _ = try await open(place, cancelling) }.value
            }
            #expect(try await open(place, options([root])).get(secret) == "value")
        }
    }

    @Test("A root key that is replaced while the former one is fetched closes what comes after a removal of everything")
    func replacedMeanwhile() async throws {
        try await withPlace { place in
            let (former, new) = (SymmetricKey(size: .bits256), SymmetricKey(size: .bits256))
            let first = try await open(place, options([former]))
            try await first.set("value", for: secret)
            let late = try await open(
                place,
                options([former, new]) { call in
                    if call == 0 { try await first.removeAll() }
                })
            try await place.database.write { db in try late.set("new", for: secret, in: db) }
            #expect(try await open(place, options([new])).get(secret) == "new")
        }
    }

    @Test(
        "Damage in what is noted of keys and folders keeps nobody from plain values",
        arguments: ["lfs_setting_key", "lfs_setting_folder"])
    func damagedTable(table: String) async throws {
        try await withPlace { place in
            let root = SymmetricKey(size: .bits256)
            let storage = try await open(place, options([root]))
            try await storage.set("value", for: secret)
            try await storage.set("value", for: filed)
            try await place.execute("DROP TABLE \(table)")
            let again = try await open(place, options([root]))
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
    @Test("Of folders whose names differ in their bytes alone one is not taken for the other")
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

/// Counts from 0 on.
private final class Counter: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}
