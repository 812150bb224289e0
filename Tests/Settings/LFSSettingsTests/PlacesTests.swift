import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Standard locations and device identity", .timeLimit(.minutes(10)))
struct PlacesTests {
    @Test("Standard locations follow the XDG specification and ignore relative paths")
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

    @Test("An invalid app name and a relative home are errors", arguments: ["", ".", "..", ".x", "a/b", "a\u{0}b"])
    func badNames(name: String) async {
        await expectFailure(.invalidName) { _ = try StandardLocations(app: name, environment: ["HOME": "/h"]) }
        await expectFailure(.notConfigured) { _ = try StandardLocations(app: "a", environment: ["HOME": "h"]) }
    }

    @Test("Concurrent readers get one device id, and its hash matches")
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

    @Test("A device id with a second name is read, as in a backup of hard links")
    func secondName() async throws {
        try await withStateFolder { folder in
            let identity = try await DeviceIdentity(in: folder.path)
            let file = folder.appendingPathComponent("device-id")
            try FileManager.default.linkItem(at: file, to: folder.appendingPathComponent(".device-id.left"))
            #expect(try await DeviceIdentity(in: folder.path) == identity)
        }
    }

    @Test("The state folder and its missing parents are created for this user only")
    func parents() async throws {
        try await withStateFolder { folder in
            let state = folder.appendingPathComponent("Application Support/recipes/State")
            let identity = try await DeviceIdentity(in: state.path)
            #expect(try await DeviceIdentity(in: state.path) == identity)
            for path in [state.path, state.deletingLastPathComponent().path, folder.path] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o700)
            }
        }
    }

    @Test("A damaged device id or a writable folder is an error and changes nothing")
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

    @Test("The folder of the device's id is excluded from backups before the id exists")
    func identityIsNotBackedUp() async throws {
        try await withTemporaryFolder { folder in
            let state = folder.child("parent/state")
            let calls = EventLog<[Bool]>()
            let call: BackupExclusion.Call = { path, isExcluded in
                #expect(path == state.path)
                let exists = FileManager.default.fileExists(atPath: state.child("device-id").path)
                calls.add([isExcluded, exists])
            }
            for _ in 0..<2 { _ = try await DeviceIdentity(in: state.path, backupCall: call) }
            #expect(calls.events == [[true, false], [true, true]])
            let refusal: BackupExclusion.Call = { _, _ in throw CocoaError(.fileWriteNoPermission) }
            let other = folder.child("other")
            await expectFailure(.system) { _ = try await DeviceIdentity(in: other.path, backupCall: refusal) }
            #expect(!FileManager.default.fileExists(atPath: other.child("device-id").path))
        }
    }
}
