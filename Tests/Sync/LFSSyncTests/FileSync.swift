import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

/// Devices with files. Each has its own manager. All of them use one storage in memory and one server.
final class FileSync: Sendable {
    let sync: TestSync
    let storage = WatchedStorage()
    private let managers = Mutex<[LFSManager]>([])

    private init(_ sync: TestSync) { self.sync = sync }

    static func run(schema: SyncSchema = TestSync.schema, _ body: (FileSync) async throws -> Void) async throws {
        try await TestSync.run(schema: schema) { sync in
            let files = FileSync(sync)
            do {
                try await body(files)
            } catch {
                try await files.stop()
                throw error
            }
            try await files.stop()
        }
    }

    private func stop() async throws { for manager in managers.withLock({ $0 }) { try await manager.stop() } }

    /// Makes a device.
    ///
    /// - Parameter starts: true if the manager runs its uploads and deletions.
    func device(
        _ name: String, account: String = "ann", starts: Bool = true,
        tables: @escaping @Sendable (Database) throws -> Void = TestSync.recipes
    ) async throws -> FileDevice {
        let device = try await sync.device(name, account: account, tables: tables)
        return FileDevice(device: device, lfs: try await manager(device.database, starts: starts))
    }

    func manager(_ database: any DatabaseWriter, starts: Bool = true) async throws -> LFSManager {
        var options = LFSOptions(storage: storage)
        options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20))
        options.pollInterval = .milliseconds(20)
        let lfs = try await LFSManager.open(database, options: options)
        managers.withLock { $0.append(lfs) }
        if starts { try lfs.start() }
        return lfs
    }

    /// Runs a body with two devices of one account. Both have the same uploaded file, and the second one has a local
    /// copy.
    func pair(
        _ body: (_ one: FileDevice, _ two: FileDevice, _ file: FileData) async throws -> Void
    ) async throws {
        let (one, two) = (try await device("one"), try await device("two"))
        let file = try await one.uploaded()
        for device in [one, two] { try await device.sync() }
        #expect(try await two.bytes(of: file)?.count == 1_000)
        try await body(one, two, file)
    }

    /// Runs a body with Ann's device, which has a file in an album that she shares with Bob, and Bob's device with a
    /// local copy of the file.
    static func shared(
        startsBob: Bool = true,
        _ body: (_ files: FileSync, _ ann: FileDevice, _ bob: FileDevice, _ file: FileData) async throws -> Void
    ) async throws {
        try await run(schema: SharedScopeTests.schema) { files in
            let ann = try await files.device("ann", tables: SharedScopeTests.tables)
            let bob = try await files.device("bob", account: "bob", starts: startsBob, tables: SharedScopeTests.tables)
            let file = try await ann.uploaded()
            try await ann.device.execute(
                """
                INSERT INTO album VALUES ('x', 'Sea');
                INSERT INTO album_file VALUES ('l', 'x', '\(file.id.text)')
                """)
            try await files.share(ann)
            try await bob.sync()
            #expect(try await bob.bytes(of: file)?.count == 1_000)
            try await body(files, ann, bob, file)
        }
    }

    func share(_ ann: FileDevice) async throws {
        let bob = try #require(try await sync.service.account(named: "bob"))
        try await ann.device.execute("INSERT INTO album_user VALUES ('m', 'x', '\(bob)', 'viewer')")
        try await ann.sync()
    }

    func unshare(_ ann: FileDevice) async throws {
        try await ann.device.execute("DELETE FROM album_user")
        try await ann.sync()
    }
}

struct FileDevice: Sendable {
    let device: TestSync.Device
    let lfs: LFSManager

    @discardableResult func sync() async throws -> SyncReport { try await device.sync() }

    /// Makes a file with unique bytes.
    func made(_ bytes: [UInt8]? = nil) async throws -> FileData {
        let bytes = bytes ?? SampleBytes.make(1_000, seed: .random(in: 0 ... .max))
        let file = try await lfs.makeFile(from: .bytes(bytes), name: "photo")
        try await device.database.write { try file.insert($0) }
        return file
    }

    func uploaded() async throws -> FileData {
        let file = try await made()
        try await lfs.waitForUploads()
        return try #require(try await row(file))
    }

    func row(_ file: FileData) async throws -> FileData? {
        try await device.database.read { try FileData.fetchOne($0, key: file.id) }
    }

    /// Returns nil if another device has yet to upload the bytes.
    func bytes(of file: FileData) async throws -> Data? { try await lfs.data(of: file.id) }

    func delete(_ file: FileData) async throws {
        try await device.execute("DELETE FROM lfs_file WHERE id = '\(file.id.text)'")
    }

    func count(_ table: String) async throws -> Int {
        try await device.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? -1 }
    }

    /// Waits until the device has processed all deleted files.
    func settle() async throws {
        for table in ["lfs_tombstone WHERE isHeld = 0", "lfs_disowned"] { try await drain(table) }
    }

    /// Waits until a table is empty.
    func drain(_ table: String) async throws {
        try await yieldAsync { try await count(table) > 0 }
    }
}

/// A storage in memory that records removed objects and can hold calls for a test.
///
/// The mutex owns its state.
final class WatchedStorage: StorageWrapper {
    enum Call: Sendable { case upload, download }

    /// A point at which a call waits until the test opens it.
    final class Gate: Sendable {
        let isReached = Latch()
        let goesOn = Latch()

        fileprivate func pass() async {
            isReached.open()
            await goesOn.wait()
        }
    }

    let memory = InMemoryStorage()
    var base: any RemoteStorage { memory }
    private let state = Mutex<(removed: [String], gates: [Call: Gate])>(([], [:]))

    /// The keys of the objects whose removal was requested, in order.
    var removed: [String] { state.withLock { $0.removed } }

    func has(_ file: FileData) throws -> Bool { memory.bytes(of: try ObjectKey(file.key)) != nil }

    /// Returns the gate that the next call of this kind waits at.
    func hold(_ call: Call) -> Gate {
        let gate = Gate()
        state.withLock { $0.gates[call] = gate }
        return gate
    }

    private func pass(_ call: Call) async { await state.withLock { $0.gates.removeValue(forKey: call) }?.pass() }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        await pass(.upload)
        return try await memory.upload(source, to: key, session: session)
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        await pass(.download)
        return try await memory.download(request, into: sink)
    }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        state.withLock { $0.removed.append(key.rawValue) }
        try await memory.delete(key, abandoning: checkpoint)
    }
}
