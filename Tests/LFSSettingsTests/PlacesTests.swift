import Foundation
import LFSSettings
import LFSSystem
import Testing

@Suite("Places of a device", .timeLimit(.minutes(10)))
struct PlacesTests {
    @Test("The folders are those of the XDG specification, and only absolute paths count")
    func folders() throws {
        let home = ["HOME": "/home/ada"]
        let plain = try StandardLocations(app: "recipes", environment: home)
        #expect(plain.data == "/home/ada/.local/share/recipes")
        #expect(plain.cache == "/home/ada/.cache/recipes")
        #expect(plain.state == "/home/ada/.local/state/recipes")
        let given = [
            "XDG_DATA_HOME": "/srv/data", "XDG_CACHE_HOME": "relative", "XDG_STATE_HOME": "",
        ]
        let other = try StandardLocations(app: "recipes", environment: home.merging(given) { $1 })
        #expect(other.data == "/srv/data/recipes")
        #expect(other.cache == plain.cache && other.state == plain.state)
    }

    @Test("A name that leads elsewhere, and no home, are errors", arguments: ["", ".", "..", ".x", "a/b", "a\u{0}b"])
    func badNames(name: String) async {
        await expectFailure(.invalidName) { _ = try StandardLocations(app: name, environment: ["HOME": "/h"]) }
        await expectFailure(.notConfigured) { _ = try StandardLocations(app: "a", environment: ["HOME": "h"]) }
    }

    @Test("A device gets one id, whoever asks first, and its hash is that of the id")
    func identity() async throws {
        try await withStateFolder { folder in
            let ids = try await withThrowingTaskGroup(of: DeviceIdentity.self) { group in
                for _ in 0..<8 { group.addTask { try await DeviceIdentity(in: folder.path) } }
                return try await group.reduce(into: Set<DeviceIdentity>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            let identity = try #require(ids.first)
            #expect(FileID(text: identity.id) != nil)
            var hash = ContentHash()
            Array(identity.id.utf8).withUnsafeBytes { hash.update($0) }
            #expect(identity.hash == hash.hex)
            let path = folder.appendingPathComponent("device-id").path
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["device-id"])
        }
    }

    @Test("A file without an id is an error and stays, and so does a folder that others can write")
    func damaged() async throws {
        try await withStateFolder { folder in
            let before = try await DeviceIdentity(in: folder.path)
            let file = folder.appendingPathComponent("device-id")
            for bytes in [Data(), Data("no id".utf8), Data(repeating: 0x61, count: 10_000)] {
                try bytes.write(to: file)
                await expectFailure(.corrupted) { _ = try await DeviceIdentity(in: folder.path) }
                #expect(try Data(contentsOf: file) == bytes)
            }
            try Data("\(before.id)\n".utf8).write(to: file)
            #expect(try await DeviceIdentity(in: folder.path) == before)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
            await expectFailure(.permissionDenied) { _ = try await DeviceIdentity(in: folder.path) }
        }
    }

    private func withStateFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-state-\(UUID())")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try await body(folder)
    }
}
