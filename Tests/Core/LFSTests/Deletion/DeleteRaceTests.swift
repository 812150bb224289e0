import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

/// Tests every order of the steps between the insertion of a file and its end. A step that is not possible at its time
/// does nothing.
@Suite("Delete races", .timeLimit(.minutes(10)))
struct DeleteRaceTests {
    /// The six steps. The end of the upload and the remote delete are one step each.
    fileprivate static let six: [DeleteRace.Step] = [.insert, .beginUpload, .endUpload, .delete, .insertAgain, .remove]

    @Test("All 720 orders of six steps end in a consistent state")
    func everyOrder() async throws {
        let orders = permutations(Self.six)
        #expect(orders.count == 720)
        let ends = try await run(orders)
        // Each end must be reached. Otherwise the steps do not have their intended effect.
        #expect(ends.live > 0 && ends.gone > 0 && ends.refused > 0)
        print("720 orders: \(ends)")
    }

    @Test("All orders of the steps with separate starts and ends end in a consistent state", arguments: 0..<8)
    func everyInterleaving(part: Int) async throws {
        let orders = orders(
            [.insert, .delete, .insertAgain], chains: [.beginUpload, .put, .record],
            [.beginRemoval, .endRemoval])
        #expect(orders.count == 3_360)
        _ = try await run(orders, part: part)
    }

    @Test("A crash after an unrecorded upload ends in a consistent state in every order", arguments: 0..<8)
    func killedUpload(part: Int) async throws {
        let orders = orders(
            [.insert, .delete, .insertAgain], chains: [.beginUpload, .put], [.beginRemoval, .endRemoval])
        #expect(orders.count == 1_260)
        _ = try await run(orders.map { $0.flatMap { $0 == .put ? [$0, .kill] : [$0] } }, part: part)
    }

    @Test("A crash during a removal ends in a consistent state in every order", arguments: 0..<8)
    func killedRemoval(part: Int) async throws {
        let orders = orders([.insert, .delete, .insertAgain, .beginRemoval], chains: [.beginUpload, .put, .record])
        #expect(orders.count == 840)
        _ = try await run(orders.map { $0.flatMap { $0 == .beginRemoval ? [$0, .kill] : [$0] } }, part: part)
    }

    /// Returns every order of all steps that keeps the order within each chain.
    private func orders(_ free: [DeleteRace.Step], chains: [DeleteRace.Step]...) -> [[DeleteRace.Step]] {
        permutations(free + chains.joined()).filter { order in
            chains.allSatisfy { chain in order.filter(chain.contains) == chain }
        }
    }

    /// Runs every eighth order.
    private func run(_ orders: [[DeleteRace.Step]], part: Int) async throws -> DeleteRace.Ends {
        try await run(orders.enumerated().filter { $0.offset % 8 == part }.map(\.element))
    }

    private func run(_ orders: [[DeleteRace.Step]]) async throws -> DeleteRace.Ends {
        let storage = HeldDeleteStorage()
        var ends = DeleteRace.Ends()
        // Uses an in-memory file system if there is one, because the test creates thousands of files and tests no power
        // failure.
        let parent = otherFileSystem ?? FileManager.default.temporaryDirectory
        try await withHost(storage: storage, in: parent) { host in
            try await withManager(host, starts: false) { lfs in
                for order in orders {
                    let race = try await DeleteRace(host, lfs: lfs, storage: storage)
                    for step in order { try await race.take(step) }
                    try await race.settle()
                    try await race.check(order.map(\.rawValue).joined(separator: ", "), ends: &ends)
                }
                #expect(try host.count("lfs_job") == 0)
                #expect(try host.count("lfs_tombstone") == 0)
            }
        }
        return ends
    }

    private func permutations<Element>(_ elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }
}

/// A file and the components that process it. The test runs each step that tasks would run.
private final class DeleteRace {
    enum Step: String {
        case insert, delete
        case insertAgain = "insert again"
        case beginUpload = "begin the upload"
        case put, record
        case endUpload = "end the upload"
        case beginRemoval = "begin the removal"
        case endRemoval = "end the removal"
        case remove, kill
    }

    struct Ends {
        var live = 0, gone = 0, refused = 0
    }

    private let host: TestHost
    private let lfs: LFSManager
    private let storage: HeldDeleteStorage
    private let file: FileData
    private let bytes: [UInt8]
    private let held = HeldFiles()
    /// The job that the pool has held in memory since the insertion, with the values of that time.
    private var waiting: TransferJob?
    private var job: TransferJob?
    private var source: UploadSource?
    private var object: RemoteObject?
    private var removal: Task<Void, any Error>?
    private var refusals = 0
    private var wasInserted = false

    init(_ host: TestHost, lfs: LFSManager, storage: HeldDeleteStorage) async throws {
        self.host = host
        self.lfs = lfs
        self.storage = storage
        bytes = someBytes(20)
        file = try await lfs.makeFile(from: .bytes(bytes))
    }

    func take(_ step: Step) async throws {
        switch step {
        case .insert, .insertAgain: try await insert()
        case .delete: _ = try await host.database.write { [file] in try file.delete($0) }
        case .beginUpload: try await beginUpload()
        case .put: try await put()
        case .record: try await record()
        case .endUpload:
            try await put()
            try await record()
        case .beginRemoval: await beginRemoval()
        case .endRemoval: try await endRemoval()
        case .remove: try await remove()
        case .kill: await kill()
        }
    }

    private func insert() async throws {
        do {
            try await host.database.write { [file] in try file.insert($0) }
            wasInserted = true
            if job == nil, waiting == nil { waiting = try await load() }
        } catch let error as LFSError where error.code == .deleted || error.code == .bytesMissing {
            refusals += 1
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY {
            // The file is already inserted.
        }
    }

    // MARK: Upload

    private func beginUpload() async throws {
        guard job == nil else { return }
        // A waiting job may be older than a deletion. The deletion does not cancel it in this test.
        let next = waiting == nil ? try await load() : waiting
        guard let job = next else { return }
        waiting = nil
        held.insert(job.id)
        switch try await lfs.journal.check(job) {
        case .upload(let source): (self.job, self.source) = (job, source)
        case .skip(let reason): try await record(TransferOutcome(job: job, result: .skipped(reason)))
        case .fail(let error): throw error
        }
    }

    private func load() async throws -> TransferJob? {
        let page = try await lfs.journal.page(.small, limit: 10, excluding: held.ids)
        return page.jobs.first { $0.id == file.id }
    }

    private func put() async throws {
        guard let job, let source, object == nil else { return }
        object = try await storage.upload(source, to: job.key, session: UploadSession())
    }

    private func record() async throws {
        guard let job, let object else { return }
        try await record(TransferOutcome(job: job, result: .uploaded(object)))
    }

    private func record(_ outcome: TransferOutcome) async throws {
        try await lfs.journal.record([outcome])
        held.remove(outcome.job.id)
        job = nil
        source = nil
        object = nil
    }

    // MARK: Removal

    private var worker: DeletionWorker {
        DeletionWorker(
            runner: lfs.runner, places: lfs.places, storage: storage, policy: RetryPolicy(random: { 0 }),
            wallClock: { Date() }, retryInterval: .seconds(1), pool: lfs.pool,
            uploading: { [held] in held.ids }, withdraw: { [held] in held.ids.intersection($0) },
            takeBack: { _ in [] }, onProgress: { _ in }, telemetry: lfs.telemetry, lifecycle: lfs.lifecycle,
            tombstones: Signal(),
            clock: ContinuousClock(), logger: lfs.options.logger)
    }

    private func remove() async throws { _ = try await worker.workOff() }

    /// Runs the removal until the storage is called, or until it has nothing to do.
    private func beginRemoval() async {
        let gate = storage.hold()
        let (worker, reached) = (worker, gate.reached)
        removal = Task {
            defer { reached.open() }
            _ = try await worker.workOff()
        }
        await reached.wait()
    }

    private func endRemoval() async throws {
        storage.release()
        try await removal?.value
        removal = nil
    }

    // MARK: End

    /// Drops everything that the process had in memory. Its pending steps do not happen.
    private func kill() async {
        removal?.cancel()
        storage.release()
        _ = await removal?.result
        removal = nil
        if let job { held.remove(job.id) }
        waiting = nil
        job = nil
        source = nil
        object = nil
    }

    /// Lets all steps end.
    func settle() async throws {
        try await take(.endUpload)
        try await take(.endRemoval)
        for _ in 0..<2 {
            try await beginUpload()
            try await take(.endUpload)
            try await remove()
        }
    }

    func check(_ order: String, ends: inout Ends) async throws {
        let key = try ObjectKey(file.key)
        let row = try await host.database.read { [file] in try FileData.fetchOne($0, key: file.id) }
        let isHere = try await lfs.hasLocalCopy(of: file.id)
        if row != nil {
            ends.live += 1
            #expect(row?.status == .remote, "\(order)")
            #expect(isHere, "\(order)")
            #expect(storage.memory.bytes(of: key) == bytes, "\(order)")
        } else {
            ends.gone += 1
            #expect(wasInserted, "\(order)")
            #expect(!isHere, "\(order)")
            #expect(storage.memory.bytes(of: key) == nil, "\(order)")
        }
        ends.refused += refusals > 0 ? 1 : 0
    }
}
