import Foundation
import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFS

/// Tests with random steps. `LFS_SYNC_ROUNDS` sets the number of rounds, and `LFS_SYNC_SEED` the seed of an earlier
/// run.
@Suite("Random app and received changes", .serialized, .timeLimit(.minutes(10)))
struct SyncModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["LFS_SYNC_ROUNDS"].flatMap(Int.init) ?? 30
    private static let seed = environment["LFS_SYNC_SEED"].flatMap(UInt64.init) ?? 1
    private static let steps = 60

    @Test("Random changes remove no object without acceptance and no bytes of existing rows")
    func model() async throws {
        var counts: [SyncModel.Step: Int] = [:]
        for round in 0..<Self.rounds {
            let seed = Self.seed &+ UInt64(round) &* 1_000_003
            var generator = SeededGenerator(seed: seed)
            let removable = RemovableKeys()
            let storage = ScriptedStorage(
                beforeUpload: { _, _ in for _ in 0..<20 { await Task.yield() } },
                beforeDelete: { key, _ in #expect(removable.contains(key), "seed \(seed): \(key) was removed") })
            let parent = otherFileSystem ?? FileManager.default.temporaryDirectory
            try await withHost(storage: storage, in: parent) { host in
                let model = try await SyncModel(host, memory: storage.memory, removable: removable, seed: seed)
                do {
                    for _ in 0..<Self.steps {
                        let step = SyncModel.Step.allCases.randomElement(using: &generator) ?? .settle
                        if try await model.take(step, generator: &generator) { counts[step, default: 0] += 1 }
                    }
                    try await model.take(.settle, generator: &generator)
                } catch {
                    Issue.record("seed \(seed): \(error)")
                }
                try await model.lfs.stop()
            }
        }
        // Each step must have been taken. Otherwise the model proves nothing.
        for step in SyncModel.Step.allCases { #expect(counts[step] ?? 0 > 0, "\(step)") }
        print("sync model: \(counts.values.reduce(0, +)) steps in \(Self.rounds) rounds")
    }
}

/// The objects that may be removed. The mutex owns them.
private final class RemovableKeys: Sendable {
    private let keys = Mutex<Set<String>>([])
    func contains(_ key: ObjectKey) -> Bool { keys.withLock { $0.contains(key.rawValue) } }
    func insert(_ key: String) { keys.withLock { _ = $0.insert(key) } }
}

/// The expected state of the device, the storage and the rows after alternating steps of a device and a server.
private final class SyncModel {
    enum Step: CaseIterable {
        case insert, rename, delete, insertAgain, accept, acceptForServer, reject
        case receive, receiveUploaded, receiveRename, receiveUpload, receiveDeletion, receiveAgain
        case read, pin, evict, settle, reopen
    }

    private enum Place { case row, held, gone }

    private struct File {
        let key: String
        let bytes: [UInt8]
        let isOwn: Bool
        var place = Place.row
        /// The row at the time of its deletion.
        var last: FileData?
        /// True if the object must be removed and must not return.
        var isRemoved = false
    }

    private(set) var lfs: LFSManager
    private let host: TestHost
    private let memory: InMemoryStorage
    private let removable: RemovableKeys
    private let seed: UInt64
    private var files: [FileID: File] = [:]

    init(_ host: TestHost, memory: InMemoryStorage, removable: RemovableKeys, seed: UInt64) async throws {
        self.host = host
        self.memory = memory
        self.removable = removable
        self.seed = seed
        try await host.holdDeletions()
        lfs = try await Self.open(host)
    }

    private static func open(_ host: TestHost) async throws -> LFSManager {
        var options = host.options
        options.temporaryFileGracePeriod = .zero
        let lfs = try await LFSManager.open(host.database, options: options)
        try lfs.start()
        return lfs
    }

    /// Takes a step if there is a suitable file. Returns true if the step was taken.
    @discardableResult
    func take(_ step: Step, generator: inout SeededGenerator) async throws -> Bool {
        switch step {
        case .insert: try await insert()
        case .receive: try await receive(isUploaded: false)
        case .receiveUploaded: try await receive(isUploaded: true)
        case .settle: try await settle()
        case .reopen:
            try await lfs.stop()
            lfs = try await Self.open(host)
        case .insertAgain, .accept, .acceptForServer, .reject:
            guard let id = any(.held, generator: &generator) else { return false }
            try await answer(step, id: id)
        case .receiveAgain:
            guard let id = any(.gone, generator: &generator), files[id]?.isRemoved == false else { return false }
            try await receiveAgain(id)
        case .rename, .delete, .receiveRename, .receiveUpload, .receiveDeletion, .read, .pin, .evict:
            guard let id = any(.row, generator: &generator) else { return false }
            return try await change(step, id: id)
        }
        return true
    }

    private func any(_ place: Place, generator: inout SeededGenerator) -> FileID? {
        files.filter { $0.value.place == place }.keys.sorted().randomElement(using: &generator)
    }

    private func row(_ id: FileID) throws -> FileData {
        try #require(try host.file(id), "seed \(seed): the row of \(id) is gone")
    }

    // MARK: New files

    private func insert() async throws {
        let bytes = someBytes(50)
        let file = try await lfs.makeFile(from: .bytes(bytes))
        try await host.database.write { try file.insert($0) }
        files[file.id] = File(key: file.key, bytes: bytes, isOwn: true)
    }

    private func receive(isUploaded: Bool) async throws {
        let bytes = someBytes(50)
        let received = ReceivedFile(bytes)
        if isUploaded { try await upload(bytes, key: received.key) }
        var line = received
        line.status = isUploaded ? "remote" : "local"
        try await host.receive(line)
        files[line.id] = File(key: line.key, bytes: bytes, isOwn: false)
    }

    private func upload(_ bytes: [UInt8], key: String) async throws {
        _ = try await memory.upload(.temporary(bytes), to: ObjectKey(key), session: UploadSession())
    }

    private func receiveAgain(_ id: FileID) async throws {
        let last = try #require(files[id]?.last)
        do {
            try await host.receive(ReceivedFile(last, status: last.status.rawValue))
            files[id]?.place = .row
        } catch let error as DatabaseError where error.message == InsertRefusal.removed.message {
            // The file's bytes are being deleted.
        }
    }

    // MARK: Existing files

    private func change(_ step: Step, id: FileID) async throws -> Bool {
        let file = try row(id)
        switch step {
        case .rename:
            try await host.database.write { db in
                try db.execute(sql: "UPDATE lfs_file SET name = 'own' WHERE id = ?", arguments: [id])
            }
        case .receiveRename:
            // Receives the row of a late page. The file may already be uploaded.
            try await host.receive(ReceivedFile(file))
        case .receiveUpload:
            guard files[id]?.isOwn == false, file.status == .local, let bytes = files[id]?.bytes else { return false }
            try await upload(bytes, key: file.key)
            try await host.receive(ReceivedFile(file, status: "remote"))
        case .delete: try await delete(id, isReceived: false)
        case .receiveDeletion: try await delete(id, isReceived: true)
        case .read: try await check(id)
        case .pin: try await lfs.pin([id])
        default:
            do {
                try await lfs.evict(id)
            } catch let error as LFSError where [.notUploaded, .pinned].contains(error.code) {
                // The local copy stays.
            }
        }
        return true
    }

    private func delete(_ id: FileID, isReceived: Bool) async throws {
        let (isOwn, removable) = (files[id]?.isOwn == true, removable)
        let last = try await host.database.write { db in
            let last = try FileData.fetchOne(db, key: id)
            if isReceived, isOwn, last?.status == .local, let key = last?.key { removable.insert(key) }
            func delete() throws { try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [id]) }
            if isReceived { try StateTable.applying(db, delete) } else { try delete() }
            return last
        }
        files[id]?.last = last
        files[id]?.place = isReceived ? .gone : .held
        files[id]?.isRemoved = isReceived && isOwn && last?.status == .local
    }

    private func answer(_ step: Step, id: FileID) async throws {
        let file = try #require(files[id])
        switch step {
        case .insertAgain:
            try await host.database.write { try file.last?.insert($0) }
            files[id]?.place = .row
        case .reject:
            try await #expect(host.reject(id), "seed \(seed)")
            files[id]?.place = .row
        default:
            let isRemoved = step == .accept || file.isOwn && file.last?.status == .local
            if isRemoved { removable.insert(file.key) }
            try await #expect(host.accept(id, removesObject: step == .accept), "seed \(seed)")
            files[id]?.place = .gone
            files[id]?.isRemoved = isRemoved
        }
    }

    // MARK: Checks

    /// Checks that an existing row has its bytes.
    private func check(_ id: FileID) async throws {
        let (row, file) = (try row(id), try #require(files[id]))
        let isPending = row.status == .local && !file.isOwn
        let bytes = try await LFSTests.read(row, lfs: lfs)
        #expect(bytes == (isPending ? nil : file.bytes), "seed \(seed): \(row)")
    }

    private func settle() async throws {
        try await lfs.waitForUploads()
        try await lfs.waitForDeletions()
        let held = files.values.filter { $0.place == .held }.count
        try #expect(host.count("lfs_tombstone WHERE isHeld = 1") == held, "seed \(seed)")
        try #expect(host.count("lfs_tombstone WHERE isHeld = 0") == 0, "seed \(seed)")
        try #expect(host.count("lfs_file") == files.values.filter { $0.place == .row }.count, "seed \(seed)")
        try #expect(host.count("lfs_job") == 0, "seed \(seed)")
        for (id, file) in files {
            let isHere = try await lfs.hasLocalCopy(of: id)
            let object = try memory.bytes(of: ObjectKey(file.key))
            switch file.place {
            case .row:
                if file.isOwn { try #expect(row(id).status == .remote, "seed \(seed): \(id)") }
                try await check(id)
            case .held:
                let needsCopy = file.isOwn && file.last?.status == .local
                #expect(isHere || !needsCopy, "seed \(seed): \(id)")
            case .gone: #expect(!isHere, "seed \(seed): \(id)")
            }
            let isThere = !file.isRemoved && (file.last?.status == .remote || file.place == .row && file.isOwn)
            if file.isRemoved || isThere { #expect(object == (isThere ? file.bytes : nil), "seed \(seed): \(id)") }
        }
    }
}
