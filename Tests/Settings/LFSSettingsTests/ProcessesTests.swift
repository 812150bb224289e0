import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Settings of several processes", .serialized, .timeLimit(.minutes(10)))
struct ProcessesTests {
    /// The number of updates of each process. A release uses 2,500. `LFS_SETTINGS_UPDATES` sets another number.
    private static let updates = Int(ProcessInfo.processInfo.environment["LFS_SETTINGS_UPDATES"] ?? "") ?? 250

    @Test("Concurrent increments by processes are all kept", arguments: ["database", "file", "keychain", "encrypted"])
    func increments(domain: String) async throws {
        try await withPlace { place in
            let count = Self.updates
            let results = try await withThrowingTaskGroup(of: HelperRun.Result.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await HelperRun("increment", in: place.folder, arguments: domain, String(count))
                            .finish()
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.map(\.word) == Array(repeating: "ok", count: 4))
            let store = try #require(Store(rawValue: domain))
            let key: StorageKey<Int> = store.key("counter", default: 0)
            #expect(try await place.open { key }.get(key) == 4 * count)
        }
    }

    @Test("Processes with GRDB's default busy mode wait for each other")
    func defaultBusyMode() async throws {
        try await withPlace { place in
            var environment = ProcessInfo.processInfo.environment
            environment["HELPER_BUSY_MODE"] = "default"
            let results = try await withThrowingTaskGroup(of: HelperRun.Result.self) { [environment] group in
                for _ in 0..<4 {
                    group.addTask {
                        try await HelperRun("increment", in: place.folder, arguments: "database", "250")
                            .finish(environment: environment)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.map(\.word) == Array(repeating: "ok", count: 4))
            let key: StorageKey<Int> = Store.database.key("counter", default: 0)
            #expect(try await place.open { key }.get(key) == 1_000)
        }
    }

    @Test(
        "A value set by another process arrives within two polls",
        arguments: ["database", "file", "keychain", "encryptedFile"])
    func arrival(domain: String) async throws {
        try await withPlace { place in
            let clock = ManualClock()
            var options = place.options
            options.clock = clock
            let store = try #require(Store(rawValue: domain))
            let key: StorageKey<String> = store.key("first", default: "none")
            let storage = try await place.open(options) { key }
            try await storage.start()
            var values = storage.values(of: key).makeAsyncIterator()
            #expect(try await values.next() == "none")
            // The first poll has read the key's initial state.
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            await clock.waitForSleepers()
            for value in ["one", "two"] {
                #expect(
                    try await HelperRun("set", in: place.folder, arguments: domain, value).finish().word
                        == "ok")
                clock.advance(by: .seconds(1))
                #expect(try await values.next() == value)
                await clock.waitForSleepers()
            }
            try await storage.stop()
        }
    }

    @Test("A thousand observers receive another connection's change and end at the stop")
    func thousand() async throws {
        try await withPlace { place in
            let clock = ManualClock()
            var options = place.options
            options.clock = clock
            let key = StorageKey<Int>("key", default: 0)
            let storage = try await place.open(options) { key }
            try await storage.start()
            await clock.waitForSleepers()
            let (first, second) = (EventLog<Int>(), EventLog<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<1_000 {
                    group.addTask {
                        for try await value in storage.values(of: key) {
                            value == 0 ? first.add(value) : second.add(value)
                        }
                    }
                }
                await first.wait { $0.count == 1_000 }
                let other = try place.otherDatabase()
                let elsewhere = try await StorageRouter.open(other, catalogs: [StorageCatalog("app") { key }])
                try await elsewhere.set(1, for: key)
                try other.close()
                clock.advance(by: .seconds(1))
                await second.wait { $0.count == 1_000 }
                try await storage.stop()
                try await group.waitForAll()
            }
            #expect(second.events.count == 1_000)
            #expect(storage.observerCount == 0)
        }
    }

    @Test("A reader sees whole values in order during concurrent writes", arguments: Store.kept)
    func readers(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 0)
            let other = try place.otherDatabase()
            let writer = try await place.open { key }
            let reader = try await StorageRouter.open(
                other, catalogs: [StorageCatalog("app") { key }], options: place.options)
            try await writer.set(1, for: key)
            async let writing: Void = {
                for number in 2...150 { try await writer.set(number, for: key) }
            }()
            var last = 0
            while last < 150 {
                let value = try await reader.get(key)
                #expect(value >= last)
                last = value
            }
            try await writing
            try other.close()
        }
    }

    @Test("Two routers of one process update a value without lost updates", arguments: Store.kept)
    func routers(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 0)
            let other = try place.otherDatabase()
            let routers = [
                try await place.open { key },
                try await StorageRouter.open(other, catalogs: [StorageCatalog("app") { key }], options: place.options),
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 { group.addTask { try await routers[number % 2].update(key) { $0 += 1 } } }
                try await group.waitForAll()
            }
            #expect(try await routers[0].get(key) == 40)
            #expect(try await routers[1].get(key) == 40)
            try other.close()
        }
    }
}
