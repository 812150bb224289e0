import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Data steps of a catalog", .timeLimit(.minutes(10)))
struct DataStepTests {
    private let key = StorageKey<Int>("count", default: 0)

    private struct Refusal: Error {}

    private func version(_ place: Place) async throws -> Int? {
        try await place.database.read { try Int.fetchOne($0, sql: "SELECT version FROM lfs_setting_catalog") }
    }

    private func steps(failing: Int?) -> [DataStep] {
        (1...4).map { number in
            .from(number) { [key] batch in
                // The values 1, 12, 123 and so on show that each step ran exactly once and in order.
                try batch.update(key) { $0 = $0 * 10 + number }
                if number == failing { throw Refusal() }
            }
        }
    }

    @Test("A failing step rolls back with its version, and the next open resumes there")
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

    @Test("Opening runs all skipped steps, and a version may have no step")
    func skipping() async throws {
        try await withPlace { place in
            try await place.open(version: 2) { key }.set(0, for: key)
            let steps = steps(failing: nil).filter { $0.version != 3 }
            #expect(try await place.open(version: 5, steps: steps) { key }.get(key) == 24)
        }
    }

    @Test("Data of a newer app is refused and left unchanged")
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

    @Test("A new database starts at the current version and runs no step")
    func new() async throws {
        try await withPlace { place in
            let storage = try await place.open(version: 5, steps: steps(failing: nil)) { key }
            #expect(try await storage.getIfPresent(key) == nil)
            #expect(try await version(place) == 5)
        }
    }

    @Test(
        "A last step with undecodable values fails with an error that names them",
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

    @Test("External effects run before the change and again after a failure")
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

    @Test("A step reads undeclared keys and changes app rows in the version's transaction")
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

    @Test("A stored version below 1 starts with the first step")
    func belowOne() async throws {
        try await withPlace { place in
            try await place.open { key }.set(0, for: key)
            try await place.execute("UPDATE lfs_setting_catalog SET version = -3")
            #expect(try await place.open(version: 3, steps: steps(failing: nil).dropLast(2)) { key }.get(key) == 12)
            #expect(try await version(place) == 3)
        }
    }

    @Test(
        "Steps with equal or out-of-range versions are refused",
        arguments: [[1, 1], [2], [0], [1, 3]])
    func oddSteps(versions: [Int]) async throws {
        try await withPlace { place in
            let steps = versions.map { DataStep.from($0) { _ in } }
            await expectFailure(.invalidStep) {
                _ = try await place.open(version: 2, steps: steps) { key }
            }
        }
    }

    @Test("A last step with undecodable members of families fails", arguments: [Store.database, .file, .keychain])
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
