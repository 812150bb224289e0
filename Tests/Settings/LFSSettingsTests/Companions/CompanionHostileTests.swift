import Crypto
import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Untrusted states of other devices", .timeLimit(.minutes(10)))
struct CompanionHostileTests {
    private let network = LoopbackNetwork()
    private let world = World()

    private func id(_ ahead: Duration = .zero) -> FileID {
        FileID.make(at: Date(millisecondsSince1970: world.now + ahead.milliseconds))
    }

    private func entry(
        _ json: String, ahead: Duration = .zero, serializer: String = "json", version: Int = 1
    ) -> CompanionState.Entry {
        CompanionState.Entry(
            updateID: id(ahead),
            content: SerializedValue(serializer: serializer, version: version, bytes: Data(json.utf8)))
    }

    private func state(_ entries: [String: CompanionState.Entry], of device: FileID = FileID.make()) -> CompanionState {
        CompanionState(deviceID: device, resetCount: 0, entries: entries)
    }

    /// Returns the body with a new, matching digest appended.
    private func signed(_ body: Data) -> Data { body + SHA256.hash(data: body) }

    private func decode(_ bytes: Data) throws -> CompanionState {
        try CompanionState(encoded: bytes, limits: CompanionLimits())
    }

    // MARK: Format

    @Test("An encoded state decodes to itself, and any flipped bit or cut is detected")
    func damaged() async throws {
        let whole = state(["one": entry("1"), "two": CompanionState.Entry(updateID: id(), content: nil)])
        let bytes = whole.encoded()
        #expect(try decode(bytes) == whole)
        #expect(bytes.count == whole.byteCount)
        for index in bytes.indices {
            var flipped = bytes
            flipped[index] ^= 1 << (index % 8)
            await expectFailure(.corrupted, comment: "byte \(index)") { _ = try decode(flipped) }
            await expectFailure(.corrupted, comment: "cut at \(index)") { _ = try decode(bytes.prefix(index)) }
            if index == bytes.count - 32 { continue }
            await expectFailure(.corrupted, comment: "cut at \(index)") { _ = try decode(signed(bytes.prefix(index))) }
        }
        await expectFailure(.corrupted) { _ = try decode(signed(bytes.dropLast(32) + [0])) }
        var later = bytes.dropLast(32)
        later[4] = 2
        await expectFailure(.newerValue) { _ = try decode(signed(Data(later))) }
    }

    /// The number of rounds. `LFS_SETTINGS_FUZZ` sets another one.
    private static let fuzzRounds = Int(ProcessInfo.processInfo.environment["LFS_SETTINGS_FUZZ"] ?? "") ?? 20_000

    @Test("Random bytes with a valid digest decode to the same state or a typed error")
    func fuzz() async throws {
        var random = SeededGenerator(seed: 36)
        let base = state([
            "one": entry("1"), "three": entry("[[1]]"), "two": CompanionState.Entry(updateID: id(), content: nil),
        ]).encoded().dropLast(32)
        var count = (read: 0, refused: 0)
        for round in 0..<Self.fuzzRounds {
            var body = Data(base)
            for _ in 0...random.next(below: 4) {
                let index = random.next(below: body.count)
                switch random.next(below: 4) {
                case 0: body[index] = UInt8(random.next(below: 256))
                case 1: body[index] ^= 1 << UInt8(random.next(below: 8))
                case 2: body.replaceSubrange(index..<min(index + 4, body.count), with: [255, 255, 255, 255])
                default: body = body.prefix(index + 1) + body.dropFirst(random.next(below: body.count))
                }
            }
            do throws(SettingsError) {
                let bytes = signed(body)
                #expect(try CompanionState(encoded: bytes, limits: CompanionLimits()).encoded() == bytes, "\(round)")
                count.read += 1
            } catch {
                #expect([.corrupted, .newerValue].contains(error.code), "\(round): \(error)")
                count.refused += 1
            }
        }
        #expect(count.read > 0 && count.refused > 0)
    }

    @Test("A key count that exceeds the bytes reserves no memory")
    func counts() async throws {
        var body = state([:]).encoded().dropLast(32)
        body.replaceSubrange(29..<33, with: [255, 255, 255, 255])
        // Reserving memory for that many keys would take 400 GB.
        for _ in 0..<100 { await expectFailure(.corrupted) { _ = try decode(signed(Data(body))) } }
    }

    // MARK: The storage

    @Test("States of a million keys or a gigabyte are refused without loading them")
    func tooLarge() async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder)
            let good = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(storage, prefix: "settings")])
            try await good.set(5)
            try await good.synchronize()
            let giant = folder.child("settings").child(FileID.make().text)
            #expect(FileManager.default.createFile(atPath: giant.path, contents: nil))
            let file = try FileHandle(forWritingTo: giant)
            try file.truncate(atOffset: 1 << 30)
            try file.close()
            var million = Data("LFSC".utf8)
            million.append(Data(count: 1 + 16 + 8 + 4 + 1_000_000 * 40))
            try million.write(to: folder.child("settings").child(FileID.make().text))
            for lies in [false, true] {
                let counting = CountingStorage(base: storage, lies: lies)
                let device = try await CompanionDevice(
                    world, transports: [try RemoteStorageTransport(counting, prefix: "settings")])
                try await device.synchronize()
                #expect(try device.problems.isEmpty == false)
                #expect(try Set(device.problems) == ["all: tooLarge"])
                #expect(try await device.get(0) == 5)
                // The limit plus the chunk that the storage delivers at once.
                #expect(counting.largest <= (lies ? 3 << 20 : 1_000), "\(counting.largest)")
            }
        }
    }

    @Test("Damaged, foreign or newer objects stay unchanged, and other devices still sync")
    func objects() async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder)
            let good = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(storage, prefix: "settings")])
            try await good.set(5)
            try await good.synchronize()
            let settings = folder.child("settings")
            let bytes = state(["one": entry("6", ahead: .seconds(60))]).encoded()
            var (torn, later) = (bytes, bytes.dropLast(32))
            torn[40] ^= 1
            later[4] = 9
            let files = [torn, bytes, signed(Data(later)), Data()].map { ($0, settings.child(FileID.make().text)) }
            for (bytes, url) in files { try bytes.write(to: url) }
            try Data("notes".utf8).write(to: settings.child("readme.txt"))
            let device = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(storage, prefix: "settings")])
            try await device.synchronize()
            #expect(try await device.get(0) == 5)
            #expect(
                try device.problems.sorted() == [
                    "all: corrupted", "all: corrupted", "all: corrupted", "all: newerValue",
                ])
            for (bytes, url) in files { #expect(try Data(contentsOf: url) == bytes) }
            // The audit reports the same problems. A problem disappears with its cause.
            #expect(try await device.storage.audit().companions == device.storage.companions)
            for (_, url) in files { try FileManager.default.removeItem(at: url) }
            try await device.synchronize()
            #expect(try device.problems == [])
        }
    }

    @Test("Devices over the limit are reported and not read, except the device's own object")
    func manyDevices() async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder)
            let limits = CompanionLimits(deviceCount: 3)
            for _ in 0..<5 {
                let device = try await CompanionDevice(
                    world, transports: [try RemoteStorageTransport(storage, prefix: "settings")])
                try await device.set(1)
                try await device.synchronize()
            }
            let before = try CompanionDevice.newDatabase()
            let device = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(storage, prefix: "settings")], database: before)
            let backup = try CompanionDevice.newDatabase()
            try before.backup(to: backup)
            try await device.set(8, index: 1)
            try await device.synchronize()
            // The id of the restored device sorts last.
            let again = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(storage, prefix: "settings", limits: limits)],
                database: backup)
            try await again.synchronize()
            #expect(try await again.get(1) == 8)
            let ids = try names(in: folder.child("settings")).sorted()
            #expect(try again.status.problems.map(\.device).sorted() == Array(ids[3...4]))
            #expect(try Set(again.problems) == ["all: tooManyDevices"])
        }
    }

    @Test("A listing that returns the same page forever ends with an error")
    func circle() async throws {
        try await withTemporaryFolder { folder in
            let storage = CirclingStorage(base: try DirectoryStorage(at: folder))
            let transport = try RemoteStorageTransport(storage, prefix: "settings")
            let error = await #expect(throws: StorageError.self) {
                try await transport.states(for: CompanionQuery(device: "none")) { _ in }
            }
            #expect(error?.code == .serverError)
        }
    }

    // MARK: Values

    @Test("A refused value does not stop the other values of its device")
    func values() async throws {
        let device = try await CompanionDevice(world, transports: [LoopbackTransport(network)])
        try await device.set(1, index: 0)
        // A value that does not win is not examined.
        world.pass(.seconds(1))
        let nested = String(repeating: "[", count: 90)
        let far = Duration.seconds(25 * 3_600)
        for (bad, code) in [
            (entry(#""text""#), "undecodable"), (entry(nested), "undecodable"), (entry("7", ahead: far), "clockAhead"),
            (entry(String(repeating: " ", count: 100) + "7"), "tooLarge"),
            (CompanionState.Entry(updateID: id(far), content: nil), "clockAhead"),
        ] {
            let other = FileID.make()
            network.put(state(["one": bad, "two": entry("2")], of: other).encoded(), of: other.text)
            try await device.synchronize()
            #expect(try await device.values() == [1, 2, nil], "\(code)")
            #expect(try device.problems == ["one: \(code)"])
            network.put(nil, of: other.text)
            try await device.remove(1)
            world.pass(.seconds(1))
        }
    }

    @Test("Deeply nested JSON is reported as undecodable")
    func nested() async throws {
        struct Tree: Codable, Sendable { var children: [Tree]? }
        let key = StorageKey<Tree>("tree", sync: .automatic(maxByteCount: 64 << 10))
        let list = StorageKey<[[Int]]>("list", sync: .automatic(maxByteCount: 64 << 10))
        let catalog = StorageCatalog("app") {
            key
            list
        }
        let device = try await CompanionDevice(world, transports: [LoopbackTransport(network)], catalog: catalog)
        let other = FileID.make()
        let deep = String(repeating: #"{"children":["#, count: 4_000)
        network.put(
            state(["list": entry(String(repeating: "[", count: 60_000)), "tree": entry(deep)], of: other).encoded(),
            of: other.text)
        try await device.synchronize()
        #expect(try device.problems == ["list: undecodable", "tree: undecodable"])
    }

    @Test("Unknown keys and serializers stay published until an app knows them")
    func unknown() async throws {
        let device = try await CompanionDevice(world, transports: [LoopbackTransport(network)])
        try await device.set(1)
        let other = FileID.make()
        let bytes = state(
            [
                "one": entry("2", version: 2), "two": entry("2", serializer: "plist"), "later": entry("3"),
                "three": entry("4"),
            ], of: other
        ).encoded()
        world.pass(.seconds(1))
        network.put(bytes, of: other.text)
        try await device.synchronize()
        #expect(try await device.values() == [1, nil, 4])
        #expect(try device.status.unknownCount == 3 && device.problems == [])
        #expect(network.published[other.text] == bytes)
        let later = StorageKey<Int>("later", sync: .automatic(maxByteCount: 10))
        let catalog = StorageCatalog("app") {
            CompanionDevice.keys
            later
        }
        let newer = try await CompanionDevice(
            world, transports: [LoopbackTransport(network)], database: device.database, catalog: catalog)
        try await newer.synchronize()
        #expect(try await newer.storage.get(later) == 3)
        // The earlier app republishes the unknown entry unchanged.
        try await device.set(8)
        try await device.synchronize()
        let published = try decode(try #require(network.published[try await device.id]))
        #expect(published.entries["later"]?.content?.bytes == Data("3".utf8))
        #expect(published.entries["one"]?.content?.bytes == Data("8".utf8))
    }

    @Test("A device does not overwrite its own state that a newer app has published")
    func newerOwn() async throws {
        let device = try await CompanionDevice(world, transports: [LoopbackTransport(network)])
        try await device.set(1)
        try await device.synchronize()
        let own = try await device.id
        var body = try #require(network.published[own]).dropLast(32)
        body[4] = 2
        let newer = signed(Data(body))
        network.put(newer, of: own)
        try await device.set(2)
        try await device.synchronize()
        #expect(network.published[own] == newer)
        #expect(try device.problems == ["all: newerValue"])
        // A damaged state is replaced.
        network.put(Data("damaged".utf8), of: own)
        try await device.synchronize()
        #expect(try decode(try #require(network.published[own])).entries.count == 1)
    }

    @Test("Two contents of one update converge to the same value on all devices")
    func forged() async throws {
        let all = try await devices(2, network: network, world: world)
        let (update, other, third) = (id(), FileID.make(), FileID.make())
        func forged(_ json: String?) -> CompanionState.Entry {
            CompanionState.Entry(
                updateID: update,
                content: json.map { SerializedValue(serializer: "json", version: 1, bytes: Data($0.utf8)) })
        }
        for (first, second, end) in [("1", "2", 2), ("2", "1", 2), (nil, "1", 1), ("1", nil, 1)]
            as [(String?, String?, Int)]
        {
            let network = LoopbackNetwork()
            let one = try await devices(2, network: network, world: world)
            network.put(state(["one": forged(first)], of: other).encoded(), of: other.text)
            try await one[0].synchronize()
            network.put(state(["one": forged(second)], of: third).encoded(), of: third.text)
            try await synchronize(Array(one.reversed()))
            for device in one { #expect(try await device.get(0) == end) }
        }
        #expect(try await all[0].get(0) == nil)
    }
}

/// A storage that counts the bytes of each download. Its listing can claim that all objects are small.
private final class CountingStorage: StorageWrapper {
    let base: any RemoteStorage
    private let lies: Bool
    private let most = Mutex(0)

    init(base: any RemoteStorage, lies: Bool) { (self.base, self.lies) = (base, lies) }

    /// The byte count of the largest download, up to where the sink stopped it.
    var largest: Int { most.withLock { $0 } }

    func list(_ request: ListRequest) async throws -> ListPage {
        var page = try await base.list(request)
        if lies { for index in page.objects.indices { page.objects[index].byteCount = 10 } }
        return page
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let count = Mutex(0)
        return try await base.download(
            request,
            into: DownloadSink { bytes in
                let sum = count.withLock { count in
                    count += bytes.count
                    return count
                }
                self.most.withLock { $0 = max($0, sum) }
                try sink.write(bytes)
            })
    }
}

/// A storage whose listing never ends.
private struct CirclingStorage: StorageWrapper {
    let base: any RemoteStorage
    func list(_ request: ListRequest) async throws -> ListPage { ListPage(objects: [], next: "same") }
}
