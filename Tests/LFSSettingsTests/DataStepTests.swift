import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Steps of a catalog's data", .timeLimit(.minutes(10)))
struct DataStepTests {
    private let key = StorageKey<Int>("count", default: 0)

    private struct Refusal: Error {}

    private func version(_ place: Place) async throws -> Int? {
        try await place.database.read { try Int.fetchOne($0, sql: "SELECT version FROM lfs_setting_catalog") }
    }

    private func steps(failing: Int?) -> [DataStep] {
        (1...4).map { number in
            .from(number) { [key] batch in
                // 1, 12, 123, …: each exactly once, in order.
                try batch.update(key) { $0 = $0 * 10 + number }
                if number == failing { throw Refusal() }
            }
        }
    }

    @Test("A step that throws is taken back with its version; those before it stand, and the next open goes on")
    func failing() async throws {
        try await withPlace { place in
            try await place.open { key }.set(0, for: key)
            #expect(try await version(place) == 1)
            for _ in 0..<2 {
                let waiting = try await place.open(version: 5, steps: steps(failing: 3)) { key }
                await expectFailure(.migrationFailed) { _ = try await waiting.get(key) }
                #expect(try await waiting.audit().pendingCatalogs == ["app"])
                #expect(try await version(place) == 3)
            }
            let storage = try await place.open(version: 5, steps: steps(failing: nil)) { key }
            #expect(try await storage.get(key) == 1234)
            #expect(try await version(place) == 5)
            #expect(try await place.open(version: 5, steps: steps(failing: nil)) { key }.get(key) == 1234)
        }
    }

    @Test("Two versions are skipped at once, and a version without a step has nothing to do")
    func skipping() async throws {
        try await withPlace { place in
            try await place.open(version: 2) { key }.set(0, for: key)
            let steps = steps(failing: nil).filter { $0.version != 3 }
            #expect(try await place.open(version: 5, steps: steps) { key }.get(key) == 24)
        }
    }

    @Test("The data of a newer app is refused, and nothing is touched")
    func downgrade() async throws {
        try await withPlace { place in
            try await place.open(version: 3) { key }.set(7, for: key)
            let legacy = StorageKey<Int>("moved", migrations: [.legacy(from: key)])
            await expectFailure(.newerData) {
                _ = try await place.open(version: 2, steps: [steps(failing: nil)[0]]) {
                    key
                    legacy
                }
            }
            #expect(try await version(place) == 3)
            #expect(try await place.open(version: 3) { key }.get(key) == 7)
        }
    }

    @Test("A new database begins at the present version, and runs no step")
    func new() async throws {
        try await withPlace { place in
            let storage = try await place.open(version: 5, steps: steps(failing: nil)) { key }
            #expect(try await storage.getIfPresent(key) == nil)
            #expect(try await version(place) == 5)
        }
    }

    @Test(
        "The last step stands only when every value decodes; those that do not are named",
        arguments: [Store.database, .encrypted, .file])
    func verification(store: Store) async throws {
        try await withPlace { place in
            let text: StorageKey<String> = store.key("odd")
            let number: StorageKey<Int> = store.key("odd")
            let other = StorageKey<Int>("other", default: 0)
            let storage = try await place.open {
                text
                other
            }
            try await storage.set("no number", for: text)
            try await storage.set(1, for: other)
            let step = DataStep.from(2) { try $0.set(2, for: other) }
            do {
                _ = try await place.open(version: 3, steps: [step]) {
                    number
                    other
                }.get(other)
                Issue.record("No error was thrown.")
            } catch let error as SettingsError {
                #expect(error.code == .migrationFailed)
                #expect(error.message.contains("odd"))
                #expect(!error.message.contains("other,") && !error.message.contains("no number"))
            }
            #expect(try await version(place) == 2)
            let again = try await place.open(version: 2) {
                text
                other
            }
            #expect(try await again.get(other) == 1)
            try await again.remove(text)
            let done = try await place.open(version: 3, steps: [step]) {
                number
                other
            }
            #expect(try await done.get(other) == 2)
        }
    }

    @Test("Effects elsewhere come before the change, and again after a failure")
    func effects() async throws {
        try await withPlace { place in
            try await place.open { key }.set(1, for: key)
            let log = EventLog<String>()
            let fails = Mutex(true)
            let step = DataStep.from(1, effects: { log.add("effect") }) { batch in
                log.add("change")
                try batch.set(2, for: self.key)
                if fails.withLock({ $0 }) { throw Refusal() }
            }
            await expectFailure(.migrationFailed) {
                _ = try await place.open(version: 2, steps: [step]) { key }.get(key)
            }
            fails.withLock { $0 = false }
            #expect(try await place.open(version: 2, steps: [step]) { key }.get(key) == 2)
            #expect(log.events == ["effect", "change", "effect", "change"])
        }
    }

    @Test("A step reads keys that no catalog has any more, and changes rows of the app with its version")
    func legacy() async throws {
        try await withPlace { place in
            let old = StorageKey<[String]>("tags")
            try await place.open { old }.set(["a", "b"], for: old)
            let step = DataStep.from(1) { batch in
                try batch.database.execute(sql: "CREATE TABLE tag (name TEXT)")
                for tag in try batch.legacy(old) ?? [] {
                    try batch.database.execute(sql: "INSERT INTO tag VALUES (?)", arguments: [tag])
                }
                try batch.removeLegacy(old)
            }
            let storage = try await place.open(version: 2, steps: [step]) { key }
            #expect(
                try await place.database.read { try String.fetchAll($0, sql: "SELECT name FROM tag") } == ["a", "b"])
            #expect(try await storage.audit().orphans == [])
        }
    }

    @Test("A version below 1, as another program has written it, is one from which the steps begin")
    func belowOne() async throws {
        try await withPlace { place in
            try await place.open { key }.set(0, for: key)
            try await place.execute("UPDATE lfs_setting_catalog SET version = -3")
            #expect(try await place.open(version: 3, steps: steps(failing: nil).dropLast(2)) { key }.get(key) == 12)
            #expect(try await version(place) == 3)
        }
    }

    @Test(
        "Two steps of one version, and one that leads past the catalog's, are refused",
        arguments: [[1, 1], [2], [0], [1, 3]])
    func oddSteps(versions: [Int]) async throws {
        try await withPlace { place in
            let steps = versions.map { DataStep.from($0) { _ in } }
            await expectFailure(.invalidStep) {
                _ = try await place.open(version: 2, steps: steps) { key }
            }
        }
    }

    @Test(
        "The last step stands only when members of families decode too", arguments: [Store.database, .file, .keychain])
    func families(store: Store) async throws {
        try await withPlace { place in
            let (text, number) = (
                StorageKey<String>.Family(store.key("family")), StorageKey<Int>.Family(store.key("family"))
            )
            try await place.open { text }.set("no number", for: text["a"])
            await expectFailure(.migrationFailed) {
                _ = try await place.open(version: 2) { number }.get(number["b"])
            }
            #expect(try await version(place) == 1)
        }
    }
}
