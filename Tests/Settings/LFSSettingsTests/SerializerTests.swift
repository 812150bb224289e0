import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Serializers", .timeLimit(.minutes(10)))
struct SerializerTests {
    private struct Theme: Codable, Hashable, Sendable {
        var zebra = 1
        var accent: String? = "red"
        var since = Date(timeIntervalSince1970: 1_700_000_000.25)
    }

    @Test("JSON has sorted keys and dates in milliseconds", arguments: Store.allCases)
    func json(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Theme> = store.key("theme")
            let storage = try await place.open { key }
            try await storage.set(Theme(), for: key)
            #expect(try await storage.get(key) == Theme())
            if store == .database {
                let text = String(decoding: try #require(try await place.bytes(of: "theme")), as: UTF8.self)
                #expect(text == "{\"accent\":\"red\",\"since\":1700000000250,\"zebra\":1}")
            }
        }
    }

    @Test("Every serializer preserves scalars, nil, lists and empty texts")
    func values() async throws {
        try await withPlace { place in
            let json = StorageKey<[String: Int?]>("json")
            let list = StorageKey<[Date]>("list", serializer: .propertyList)
            let scalar = StorageKey<Bool>("scalar", serializer: .propertyList)
            let text = StorageKey<String>("text", serializer: .string)
            let optional = StorageKey<Int?>("optional")
            let storage = try await place.open {
                json
                list
                scalar
                text
                optional
            }
            try await storage.set(["a": 1, "b": nil], for: json)
            #expect(try await storage.get(json) == ["a": 1, "b": nil])
            try await storage.set([Date(timeIntervalSince1970: 0.5)], for: list)
            #expect(try await storage.get(list) == [Date(timeIntervalSince1970: 0.5)])
            try await storage.set(true, for: scalar)
            #expect(try await storage.get(scalar))
            try await storage.set("", for: text)
            #expect(try await storage.get(text) == "")
            try await storage.set(nil, for: optional)
            #expect(try await storage.getIfPresent(optional) == .some(nil))
        }
    }

    @Test("A text that is not valid UTF-8 is an error and stays unchanged")
    func text() async throws {
        try await withPlace { place in
            let key = StorageKey<String>("text", serializer: .string)
            let storage = try await place.open { key }
            try await storage.set("x", for: key)
            try await place.execute("UPDATE lfs_setting SET value = x'61ff62'")
            await expectFailure(.undecodable) { _ = try await storage.get(key) }
            #expect(try await place.bytes(of: "text") == Data([0x61, 0xFF, 0x62]))
        }
    }

    private func number(_ version: Int) -> StorageKey<Int> {
        let first = SettingSerializer<Int>.custom(
            id: "number", encode: { Data("\($0)".utf8) },
            decode: { bytes in
                guard let value = Int(String(decoding: bytes, as: UTF8.self)) else {
                    throw CocoaError(.coderReadCorrupt)
                }
                return value
            })
        switch version {
        case 1: return StorageKey("number", default: -1, serializer: first)
        case 2: return StorageKey("number", default: -1, serializer: first.upgrading(from: 1) { Int($0.count) * 100 })
        default:
            return StorageKey(
                "number", default: -1,
                serializer: first.upgrading(from: 1) { Int($0.count) * 100 }.upgrading(from: 2) {
                    Int($0.count) * 10_000
                })
        }
    }

    @Test("Values of earlier serializer versions are upgraded when read")
    func upgrades() async throws {
        try await withPlace { place in
            try await place.open { number(1) }.set(12_345, for: number(1))
            let third = try await place.open { number(3) }
            #expect(try await third.get(number(3)) == 500)
            #expect(try await place.bytes(of: "number") == Data("12345".utf8))
            try await place.open { number(2) }.set(77, for: number(2))
            #expect(try await place.open { number(3) }.get(number(3)) == 20_000)
            try await third.set(4, for: number(3))
            #expect(try await place.database.read { try Int.fetchOne($0, sql: "SELECT version FROM lfs_setting") } == 3)
            #expect(try await third.get(number(3)) == 4)
        }
    }

    @Test("A value of a newer serializer version is an error and stays unchanged")
    func newer() async throws {
        try await withPlace { place in
            try await place.open { number(3) }.set(12, for: number(3))
            let first = try await place.open { number(1) }
            await expectFailure(.newerValue) { _ = try await first.get(number(1)) }
            await expectFailure(.newerValue) { try await first.update(number(1)) { $0 += 1 } }
            let third = try await place.open { number(3) }
            #expect(try await third.get(number(3)) == 12)
        }
    }

    @Test("A value of another serializer is an error and stays unchanged")
    func otherSerializer() async throws {
        try await withPlace { place in
            let json = StorageKey<String>("key", default: "default")
            let others = [
                StorageKey<String>("key", default: "default", serializer: .propertyList),
                StorageKey<String>("key", default: "default", serializer: .string),
            ]
            try await place.open { json }.set("value", for: json)
            let before = try await place.bytes(of: "key")
            for other in others {
                let storage = try await place.open { other }
                await expectFailure(.otherSerializer) { _ = try await storage.get(other) }
                #expect(try await storage.audit().entries.first?.problem == "otherSerializer")
            }
            #expect(try await place.bytes(of: "key") == before)
            #expect(try await place.open { json }.get(json) == "value")
        }
    }

    @Test("An undecodable value is an error unless its key allows the default", arguments: Store.kept)
    func undecodable(store: Store) async throws {
        try await withPlace { place in
            let text: StorageKey<String> = store.key("key", default: "default")
            let number: StorageKey<Int> = store.key("key", default: 1)
            try await place.open { text }.set("no number", for: text)
            let storage = try await place.open { number }
            await expectFailure(.undecodable) { _ = try await storage.get(number) }
            await expectFailure(.undecodable) { _ = try await storage.get(number, default: 2) }
            await expectFailure(.undecodable) { try await storage.update(number) { $0 += 1 } }
            if store.security == .none, store != .keychain {
                let lenient = StorageKey<Int>("key", default: 1, domain: store.domain, onUndecodable: .useDefault)
                let storage = try await place.open { lenient }
                #expect(try await storage.get(lenient) == 1)
                #expect(try await storage.getIfPresent(lenient) == nil)
                #expect(try await storage.audit().entries.first?.problem == "undecodable")
            }
            #expect(try await place.open { text }.get(text) == "no number")
        }
    }

    @Test("A value that cannot be encoded is an error, and the former one stays")
    func unencodable() async throws {
        try await withPlace { place in
            let key = StorageKey<Double>("key")
            let storage = try await place.open { key }
            try await storage.set(1.5, for: key)
            await expectFailure(.unencodable) { try await storage.set(.infinity, for: key) }
            #expect(try await storage.get(key) == 1.5)
            let far = StorageKey<Date>("date")
            let dates = try await place.open { far }
            await expectFailure(.unencodable) {
                try await dates.set(Date(timeIntervalSince1970: 1e300), for: far)
            }
        }
    }
}
