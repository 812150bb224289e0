import Foundation
import GRDB
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Observation of settings", .timeLimit(.minutes(10)))
struct ObservationTests {
    @Test("An observer receives the current value first and then each change once", arguments: Store.allCases)
    func order(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 0)
            let storage = try await place.open { key }
            var values = storage.values(of: key).makeAsyncIterator()
            #expect(try await values.next() == 0)
            try await storage.set(1, for: key)
            #expect(try await values.next() == 1)
            // After setting the same value again, the next value received is a different one.
            try await storage.set(1, for: key)
            try await storage.set(2, for: key)
            #expect(try await values.next() == 2)
            try await storage.remove(key)
            #expect(try await values.next() == 0)
            try await storage.update(key) { $0 += 5 }
            #expect(try await values.next() == 5)
        }
    }

    @Test("No change is missed between the subscription and the first value", arguments: Store.allCases)
    func subscription(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 0)
            let storage = try await place.open { key }
            for number in 1...20 {
                var values = storage.values(of: key).makeAsyncIterator()
                // The change commits before or after the first read.
                async let change: Void = storage.set(number, for: key)
                var last = 0
                // Nil means that the observation has ended.
                repeat { last = try #require(try await values.next()) } while last != number
                try await change
                #expect(last == number)
            }
        }
    }

    @Test("Observing an absent value yields nil, or an error for a key without a default", arguments: Store.allCases)
    func absence(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key")
            let storage = try await place.open { key }
            var values = storage.valuesIfPresent(of: key).makeAsyncIterator()
            #expect(try await values.next() == .some(nil))
            try await storage.set(1, for: key)
            #expect(try await values.next() == 1)
            try await storage.remove(key)
            #expect(try await values.next() == .some(nil))
            await expectFailure(.noValue) {
                for try await _ in storage.values(of: key) {}
            }
        }
    }

    @Test("Committed changes reach observers, and rolled-back ones do not")
    func transactions() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 0)
            let storage = try await place.open { key }
            var values = storage.values(of: key).makeAsyncIterator()
            #expect(try await values.next() == 0)
            try await place.database.write { db in
                try db.inSavepoint {
                    try storage.set(7, for: key, in: db)
                    return .rollback
                }
            }
            try await place.database.write { db in try storage.set(8, for: key, in: db) }
            #expect(try await values.next() == 8)
            try await place.execute("UPDATE lfs_setting SET value = CAST('9' AS BLOB) WHERE name = 'key'")
            #expect(try await values.next() == 9)
            try await place.execute("DELETE FROM lfs_setting")
            #expect(try await values.next() == 0)
        }
    }

    @Test("Cancelling an observation's task removes its observer from the router", arguments: Store.allCases)
    func cancellation(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 0)
            let storage = try await place.open { key }
            let seen = EventLog<Int>()
            let task = Task {
                for try await value in storage.values(of: key) { seen.add(value) }
            }
            await seen.wait { !$0.isEmpty }
            #expect(storage.observerCount == 1)
            task.cancel()
            try await task.value
            #expect(storage.observerCount == 0)
        }
    }

    @Test("Stopping the router ends every observation", arguments: [true, false])
    func stop(runs: Bool) async throws {
        try await withPlace { place in
            let keys: [StorageKey<Int>] = Store.allCases.map { $0.key("key.\($0.rawValue)", default: 0) }
            let storage = try await place.open { keys }
            if runs { try await storage.start() }
            let seen = EventLog<Int>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for key in keys {
                    group.addTask { for try await value in storage.values(of: key) { seen.add(value) } }
                }
                await seen.wait { $0.count == keys.count }
                try await storage.stop()
                try await group.waitForAll()
            }
            #expect(storage.observerCount == 0)
            // Reads and writes still work. A new observation ends at once.
            try await storage.set(1, for: keys[0])
            #expect(try await storage.get(keys[0]) == 1)
            var late = storage.values(of: keys[0]).makeAsyncIterator()
            #expect(try await late.next() == nil)
            await expectFailure(.notRunning) { try await storage.start() }
        }
    }

    @Test("Cancelling a running router ends every observation")
    func run() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 0)
            let storage = try await place.open { key }
            let seen = EventLog<Int>()
            let run = Task { try await storage.run() }
            let observation = Task { for try await value in storage.values(of: key) { seen.add(value) } }
            await seen.wait { !$0.isEmpty }
            run.cancel()
            try await run.value
            try await observation.value
            try await storage.stop()
        }
    }

    @Test("A router cancelled before its first poll returns and ends the observations")
    func cancelledAtOnce() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 0)
            let storage = try await place.open { key }
            let seen = EventLog<Int>()
            let observation = Task { for try await value in storage.values(of: key) { seen.add(value) } }
            await seen.wait { !$0.isEmpty }
            let run = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await storage.run()
            }
            try await run.value
            try await observation.value
            try await storage.stop()
        }
    }

    @Test("An observation that is cancelled while it reads a value ends without an error")
    func cancelledRead() async throws {
        let hub = ChangeHub()
        let values = SettingValues(subscribe: { hub.subscribe("key", isInDatabase: false) }) {
            withUnsafeCurrentTask { $0?.cancel() }
            try Task.checkCancellation()
            return SettingValues<Int>.Reading(content: nil, value: 0)
        }
        let observation = Task {
            var iterator = values.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(try await observation.value == nil)
    }

    @Test("An unreadable value ends the observation with an error")
    func unreadable() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 0)
            let storage = try await place.open { key }
            var values = storage.values(of: key).makeAsyncIterator()
            #expect(try await values.next() == 0)
            try await storage.set(1, for: key)
            try await place.execute("UPDATE lfs_setting SET value = x'00'")
            await expectFailure(.undecodable) { _ = try await values.next() }
        }
    }

    @Test("A stored value equal to the default is not delivered twice", arguments: Store.allCases)
    func equalToDefault(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 0)
            let storage = try await place.open { key }
            var values = storage.values(of: key).makeAsyncIterator()
            #expect(try await values.next() == 0)
            try await storage.set(0, for: key)
            try await storage.set(1, for: key)
            #expect(try await values.next() == 1)
            try await storage.set(0, for: key)
            #expect(try await values.next() == 0)
            try await storage.remove(key)
            try await storage.set(2, for: key)
            #expect(try await values.next() == 2)
        }
        try await withPlace { place in
            // The values are set one after another, so that the observer skips none.
            let key: StorageKey<Int> = store.key("key", default: 0)
            let storage = try await place.open { key }
            let seen = EventLog<Int>()
            let task = Task { for try await value in storage.values(of: key) { seen.add(value) } }
            await seen.wait { $0 == [0] }
            try await storage.set(0, for: key)
            for _ in 0..<200 { await Task.yield() }
            try await storage.set(1, for: key)
            await seen.wait { $0.last == 1 }
            #expect(seen.events == [0, 1])
            task.cancel()
            try await task.value
        }
    }

    @Test("A change made before the router runs is delivered when it starts")
    func beforeRun() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 0)
            var options = place.options
            options.clock = ManualClock()
            let storage = try await place.open(options) { key }
            var values = storage.values(of: key).makeAsyncIterator()
            #expect(try await values.next() == 0)
            let other = try place.otherDatabase()
            try await StorageRouter.open(other, catalogs: [StorageCatalog("app") { key }]).set(1, for: key)
            try other.close()
            try await storage.start()
            #expect(try await values.next() == 1)
            try await storage.stop()
        }
    }

    @Test("An observation continues after the app releases the router")
    func withoutRouter() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 0)
            var storage: StorageRouter? = try await place.open { key }
            var values = try #require(storage?.values(of: key).makeAsyncIterator())
            storage = nil
            #expect(try await values.next() == 0)
            try await place.open { key }.set(1, for: key)
            #expect(try await values.next() == 1)
        }
    }

    @Test("A snapshot has the values of one moment and no secrets")
    func snapshot() async throws {
        try await withPlace { place in
            let keys: [StorageKey<Int>] = Store.allCases.map { $0.key("key.\($0.rawValue)", default: 0) }
            let storage = try await place.open { keys }
            for key in keys { try await storage.set(3, for: key) }
            let snapshot = try await storage.snapshot()
            for key in keys { try await storage.set(4, for: key) }
            for (key, store) in zip(keys, Store.allCases) {
                if store.security != .none || store == .keychain {
                    await expectFailure(.notInSnapshot) { _ = try snapshot.get(key) }
                } else {
                    #expect(try snapshot.get(key) == 3)
                }
            }
        }
    }
}
