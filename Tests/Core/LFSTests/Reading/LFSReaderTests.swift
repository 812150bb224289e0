import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("LFSReader", .timeLimit(.minutes(10)))
struct LFSReaderTests {
    private func readOnly(_ host: TestHost) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: host.databasePath, configuration: configuration)
    }

    private func tree(_ folder: URL) throws -> [String] {
        let names = FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String]
        return try #require(names).sorted().map { name in
            let path = folder.appendingPathComponent(name).path
            let modified = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            return "\(name) \(modified?.timeIntervalSince1970 ?? 0)"
        }
    }

    @Test("A reader on a read-only connection reads files and changes nothing")
    func besideManager() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes(300_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            try await lfs.stop()
            let before = try tree(host.store)
            let database = try readOnly(host)
            let reader = try await LFSReader(database)
            #expect(try await reader.data(of: file.id) == Data(bytes))
            var read: [UInt8] = []
            for try await chunk in try #require(try await reader.contents(of: file.id)) { read += chunk }
            #expect(read == bytes)
            let url = try #require(try await reader.localURL(of: file.id))
            #expect(try Data(contentsOf: url) == Data(bytes))
            #expect(try tree(host.store) == before)
            try database.close()
        }
    }

    @Test("A reader finds staged files in the default location and in another one", arguments: [false, true])
    func staged(isElsewhere: Bool) async throws {
        try await withHost { host in
            var options = host.options
            if isElsewhere { options.persistenceLocation = host.folder.appendingPathComponent("waiting") }
            if let location = options.persistenceLocation {
                try FileManager.default.createDirectory(at: location, withIntermediateDirectories: true)
            }
            try await withManager(host, options: options, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes([1, 2, 3]))
                try await host.database.write { try file.insert($0) }
                let reader = try await LFSReader(host.database)
                #expect(try await reader.data(of: file.id) == Data([1, 2, 3]))
            }
        }
    }

    @Test("A reader returns nil for a file without a local copy or a store")
    func notHere() async throws {
        try await withLFS { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            let reader = try await LFSReader(host.database)
            #expect(try await reader.data(of: file.id) == nil)
            #expect(await errorCode { _ = try await reader.data(of: .unknown) } == .unknownFile)
            let elsewhere = try await LFSReader(host.database, localStore: host.folder.appendingPathComponent("none"))
            #expect(try await elsewhere.contents(of: file.id) == nil)
        }
    }

    @Test("A reader refuses files of another size and stores of another database")
    func wrong() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            let path = host.store.appendingPathComponent(file.id.uuidString).path
            try FileManager.default.removeItem(atPath: path)
            #expect(FileManager.default.createFile(atPath: path, contents: Data([1])))
            let reader = try await LFSReader(host.database)
            #expect(await errorCode { _ = try await reader.data(of: file.id) } == .sourceChanged)
            try await withHost { other in
                try await withManager(other, starts: false) { _ in }
                let reader = try await LFSReader(host.database, localStore: other.store)
                #expect(await errorCode { _ = try await reader.data(of: file.id) } == .wrongStore)
            }
        }
    }
}
