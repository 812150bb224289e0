import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Store conformance", .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test("Every store reads any bytes back unchanged", arguments: Store.allCases)
    func bytes(store: Store) async throws {
        try await withPlace { place in
            let key = store.data("bytes")
            let storage = try await place.open { key }
            let contents: [Data] = [
                Data(), Data([0]), Data("a\nb\r\n".utf8), Data([0xFF, 0xFE, 0xC0, 0x80]), Data("LFSE".utf8),
                Data(repeating: 7, count: store.limit),
            ]
            for content in contents {
                try await storage.set(content, for: key)
                #expect(try await storage.get(key) == content)
                #expect(try await storage.exists(key))
                if store != .memory { #expect(try await place.open { key }.get(key) == content) }
            }
        }
    }

    @Test("A value one byte over the limit is refused, and the former value stays", arguments: Store.allCases)
    func limit(store: Store) async throws {
        try await withPlace { place in
            let key = store.data("bytes")
            let storage = try await place.open { key }
            try await storage.set(Data([1]), for: key)
            await expectFailure(.tooLarge) {
                try await storage.set(Data(repeating: 7, count: store.limit + 1), for: key)
            }
            #expect(try await storage.get(key) == Data([1]))
        }
    }

    @Test("A stored value can be overwritten, removed and removed again", arguments: Store.allCases)
    func overwriting(store: Store) async throws {
        try await withPlace { place in
            let (key, other): (StorageKey<String>, StorageKey<String>) = (store.key("one"), store.key("two"))
            let storage = try await place.open {
                key
                other
            }
            #expect(try await storage.getIfPresent(key) == nil)
            #expect(try await !storage.exists(key))
            try await storage.remove(key)
            try await storage.set("first", for: key)
            try await storage.set("other", for: other)
            try await storage.set("second", for: key)
            #expect(try await storage.get(key) == "second")
            try await storage.remove(key)
            try await storage.remove(key)
            #expect(try await storage.getIfPresent(key) == nil)
            #expect(try await storage.get(key, default: "else") == "else")
            await expectFailure(.noValue) { _ = try await storage.get(key) }
            #expect(try await storage.get(other) == "other")
        }
    }

    @Test("An update of a setting starts at the default, and one that throws has no effect", arguments: Store.allCases)
    func updating(store: Store) async throws {
        try await withPlace { place in
            let key = store.key("count", default: 10)
            let storage = try await place.open { key }
            #expect(try await storage.update(key) { $0 += 1 } == 11)
            #expect(try await storage.update(key) { $0 += 1 } == 12)
            await #expect(throws: Refusal.self) {
                try await storage.update(key) { value in
                    value = 99
                    throw Refusal()
                }
            }
            #expect(try await storage.get(key) == 12)
        }
    }

    @Test("Names that differ only in case are separate values", arguments: Store.allCases)
    func cases(store: Store) async throws {
        try await withPlace { place in
            let keys: [StorageKey<Int>] = ["accessToken", "accesstoken", "ACCESSTOKEN"].map { store.key($0) }
            let storage = try await place.open { keys }
            for (number, key) in keys.enumerated() { try await storage.set(number, for: key) }
            for (number, key) in keys.enumerated() { #expect(try await storage.get(key) == number) }
        }
    }

    @Test("File names of keys stay distinct on file systems that ignore case")
    func fileNames() async throws {
        try await withPlace { place in
            let keys: [StorageKey<Int>] = ["aB", "ab", "AB", "a.b-c"].map { Store.file.key($0) }
            let storage = try await place.open { keys }
            for key in keys { try await storage.set(1, for: key) }
            let files = try names(in: place.filesFolder()).filter { $0.hasSuffix(".setting") }
            #expect(files.count == 4)
            #expect(Set(files.map { $0.lowercased() }).count == 4)
            #expect(try permissions(of: place.filesFolder()) == 0o700)
            for file in files {
                #expect(try permissions(of: place.filesFolder().child(file)) == 0o600)
            }
        }
    }

    private struct Refusal: Error {}
}
