import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

/// What can happen to one file between its insertion and its end, in every order. A step whose time has not come, or
/// has passed, does nothing.
@Suite("The delete race", .timeLimit(.minutes(10)))
struct DeleteRaceTests {
    /// The remote delete in one piece.
    fileprivate static let six: [DeleteRace.Step] = [.insert, .beginUpload, .endUpload, .delete, .insertAgain, .remove]

    @Test("All 720 orders of six steps end right")
    func everyOrder() async throws {
        let orders = permutations(Self.six)
        #expect(orders.count == 720)
        let ends = try await run(orders)
        // Each end is reached, or the steps do not do what they are for.
        #expect(ends.live > 0 && ends.gone > 0 && ends.refused > 0)
        print("720 orders: \(ends)")
    }

    @Test("All orders of the steps with their ends apart end right", arguments: 0..<8)
    func everyInterleaving(part: Int) async throws {
        let orders = orders(
            [.insert, .delete, .insertAgain], [.beginUpload, .put, .record], [.beginRemoval, .endRemoval])
        #expect(orders.count == 3_360)
        _ = try await run(orders, part)
    }

    @Test("A kill behind an upload that nobody has recorded ends right in every order", arguments: 0..<8)
    func killedUpload(part: Int) async throws {
        let orders = orders([.insert, .delete, .insertAgain], [.beginUpload, .put], [.beginRemoval, .endRemoval])
        #expect(orders.count == 1_260)
        _ = try await run(orders.map { $0.flatMap { $0 == .put ? [$0, .kill] : [$0] } }, part)
    }

    @Test("A kill within a removal ends right in every order", arguments: 0..<8)
    func killedRemoval(part: Int) async throws {
        let orders = orders([.insert, .delete, .insertAgain, .beginRemoval], [.beginUpload, .put, .record])
        #expect(orders.count == 840)
        _ = try await run(orders.map { $0.flatMap { $0 == .beginRemoval ? [$0, .kill] : [$0] } }, part)
    }

    /// Every order of all steps in which those of a chain follow each other.
    private func orders(_ free: [DeleteRace.Step], _ chains: [DeleteRace.Step]...) -> [[DeleteRace.Step]] {
        permutations(free + chains.joined()).filter { order in
            chains.allSatisfy { chain in order.filter(chain.contains) == chain }
        }
    }

    /// Runs every eighth order.
    private func run(_ orders: [[DeleteRace.Step]], _ part: Int) async throws -> DeleteRace.Ends {
        try await run(orders.enumerated().filter { $0.offset % 8 == part }.map(\.element))
    }

    private func run(_ orders: [[DeleteRace.Step]]) async throws -> DeleteRace.Ends {
        let storage = HeldDeleteStorage()
        var ends = DeleteRace.Ends()
        // In memory where there is such a file system: these are thousands of files, and no power goes here.
        let parent = otherFileSystem ?? FileManager.default.temporaryDirectory
        try await withHost(storage: storage, in: parent) { host in
            try await withManager(host, starts: false) { lfs in
                for order in orders {
                    let race = try await DeleteRace(host, lfs, storage)
                    for step in order { try await race.take(step) }
                    try await race.settle()
                    try await race.check(order.map(\.rawValue).joined(separator: ", "), &ends)
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

/// One file and the parts that deal with it, each moved by hand where tasks would move it.
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
    /// In the memory of the pool since it was inserted, as what the row said then.
    private var waiting: TransferJob?
    private var job: TransferJob?
    private var source: UploadSource?
    private var object: RemoteObject?
    private var removal: Task<Void, any Error>?
    private var refusals = 0
    private var wasInserted = false

    init(_ host: TestHost, _ lfs: LFSManager, _ storage: HeldDeleteStorage) async throws {
        (self.host, self.lfs, self.storage) = (host, lfs, storage)
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
            // It is there.
        }
    }

    // MARK: The upload

    private func beginUpload() async throws {
        guard job == nil else { return }
        // One that waits may be older than a deletion, which does not ask for it.
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
        (job, source, object) = (nil, nil, nil)
    }

    // MARK: The removal

    private var worker: DeletionWorker {
        DeletionWorker(
            runner: lfs.runner, places: lfs.places, storage: storage, policy: RetryPolicy(random: { 0 }),
            wallClock: { Date() }, pollInterval: .seconds(1), pool: lfs.pool,
            uploading: { [held] in held.ids }, withdraw: { [held] in held.ids.intersection($0) },
            onProgress: { _ in }, telemetry: lfs.telemetry, lifecycle: lfs.lifecycle, tombstones: Signal(),
            clock: ContinuousClock(), logger: lfs.options.logger)
    }

    private func remove() async throws { _ = try await worker.workOff() }

    /// Until the storage is asked to delete, or there is nothing to do.
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

    // MARK: The end

    /// What the process had in memory is gone, and what it was about to do does not happen.
    private func kill() async {
        removal?.cancel()
        storage.release()
        _ = await removal?.result
        removal = nil
        if let job { held.remove(job.id) }
        (waiting, job, source, object) = (nil, nil, nil, nil)
    }

    /// Lets everything come to its end.
    func settle() async throws {
        try await take(.endUpload)
        try await take(.endRemoval)
        for _ in 0..<2 {
            try await beginUpload()
            try await take(.endUpload)
            try await remove()
        }
    }

    func check(_ order: String, _ ends: inout Ends) async throws {
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
