import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// A verification of rows, local store and remote storage. Its memory use does not grow with their size.
///
/// Scans find files that may have a problem. A comparison of all three sides then decides, and only its result is
/// reported and repaired.
struct Verifier {
    let options: VerifyOptions
    let runner: BackgroundRunner
    let places: FileLocations
    let namespace: Namespace
    /// The storage, with retries.
    let storage: any RemoteStorage
    let repairer: Repairer
    let readBack: ObjectVerifier
    let wallClock: @Sendable () -> Date
    /// The same as ``FindingClassifier/furthest``, as a duration.
    let longestWait: Duration
    /// The longest delay between two attempts of a deletion that may still succeed.
    let longestBackoff: Duration
    /// The age below which a file in a staging area may still be inserted.
    let stagingGracePeriod: Duration
    let onProgress: @Sendable (VerifyProgress) -> Void
    let onFinding: @Sendable (VerifyFinding) async throws -> Void

    var progress = VerifyProgress()

    var store: LocalStore { places.store }
    var now: Int64 { wallClock().millisecondsSince1970 }
    var orphans: Orphans { repairer.orphans }

    private static let parallelComparisons = 8

    var furthest: Int64 { now + longestWait.milliseconds }
    private var comparer: FileComparer {
        FileComparer(
            runner: runner, places: places, namespace: namespace, storage: options.checksRemote ? storage : nil,
            clock: repairer.clock, ignoresAbsentFolders: options.acceptsEmpty)
    }

    mutating func run() async throws -> VerifyReport {
        progress.totalFiles = try await runner.read(FileTable.count)
        try await requireStore()
        let placesCheck = PlacesCheck(runner: runner, places: places, namespace: namespace)
        if !options.acceptsEmpty {
            try await placesCheck.requireUsedStore()
            if options.checksRemote { try await placesCheck.requireUsedStorage(storage) }
        }
        // Before the scan of the rows, which reports the recorded problems.
        if options.checksRemote, options.readsRemote { try await readObjects() }
        // First, so that bytes that this run quarantines are reported only once.
        try await checkQuarantine()
        try await checkFiles()
        if options.checksRemote {
            progress.stage = .objects
            if storage.capabilities.listsObjects {
                for prefix in try await placesCheck.prefixes() { try await checkObjects(prefix) }
                try await checkOddKeys()
            } else {
                try await checkObjectsOneByOne()
            }
        }
        progress.stage = .orphans
        try await checkStore()
        try await checkDeletions()
        try await requireStore()
        onProgress(progress)
        return progress.report
    }

    // MARK: Rows

    private mutating func checkFiles() async throws {
        let scan = FileScan(
            runner: runner, store: store, namespace: namespace, checksContent: options.checksContent,
            furthest: furthest)
        try await scan.run { page in
            try await requireStore()
            progress.report.files += page.files
            progress.report.localFiles += page.localFiles
            progress.report.bytesRead += page.bytesRead
            for problem in page.unreadable { try await tell(unreadable: problem) }
            try await examine(page.doubtful, side: .local)
            onProgress(progress)
        }
    }

    private mutating func checkObjects(_ prefix: String) async throws {
        let age = try await orphans.age(options.remoteGracePeriod, now: wallClock())
        try await ObjectScan(runner: runner, storage: storage, prefix: prefix).run { page in
            progress.report.objects += page.objects
            try await examine(page.doubtful, side: .remote)
            if prefix == namespace.prefix { try await checkOrphans(page.unknown, age: age) }
            onProgress(progress)
        }
    }

    /// Checks the objects of a storage that cannot list them. Objects without a row stay unknown.
    private mutating func checkObjectsOneByOne() async throws {
        try await runner.forEachPage { db, last in
            try FileTable.settledRemote(after: last, limit: 1_000, db)
        } _: { rows in
            let ids = rows.compactMap(\.readable).map(\.id)
            try await examine(ids, side: .remote)
            progress.report.objects += ids.count
            onProgress(progress)
            return true
        }
    }

    /// Checks rows whose keys are in no namespace. Only another program can have written them.
    private mutating func checkOddKeys() async throws {
        try await runner.forEachPage { db, last in
            try FileTable.remoteWithoutNamespace(after: last, limit: 1_000, db)
        } _: { ids in
            try await examine(ids, side: .remote)
            return true
        }
    }

    /// Compares several files concurrently. Each file that may have a problem is then compared again, right before it
    /// is reported.
    private mutating func examine(_ ids: [FileID], side: FindingClassifier.Side) async throws {
        for chunk in ids.chunks(of: Self.parallelComparisons) {
            // A compared copy may turn out to be the last one, so no policy evicts it until its upload is queued.
            let uses = chunk.map(places.inUse.begin)
            defer { withExtendedLifetime(uses) {} }
            for id in try await suspects(chunk, side: side) {
                do {
                    // A reader may be repairing it right now.
                    let finding = try await repairer.turns.withTurn(id) { try await mend(id, side: side) }
                    // The app's code runs without this lock, because it may repair files itself.
                    if let finding { try await restoreAndReport(finding) }
                } catch let error as TableError where error.code == .invalidRow {
                    if side == .local { try await tell(unreadable: error) }
                }
            }
        }
    }

    /// Returns the problem of a file with the outcome of its repair.
    private func mend(_ id: FileID, side: FindingClassifier.Side) async throws -> VerifyFinding? {
        guard let comparison = try await comparer.compare(id),
            let finding = FindingClassifier(comparison: comparison, furthest: furthest).finding(side)
        else { return nil }
        if !options.repairs || comparison.local == .unknown {
            try await repairer.noteObject(finding, comparison: comparison)
        }
        return try await repaired(finding) { try await $0.repairer.repair($1, comparison: comparison) }
    }

    private func suspects(_ ids: ArraySlice<FileID>, side: FindingClassifier.Side) async throws -> [FileID] {
        let (comparer, furthest) = (comparer, furthest)
        let found = try await runEach(ids, atMost: Self.parallelComparisons) { id -> FileID? in
            do {
                guard let comparison = try await comparer.compare(id) else { return nil }
                return FindingClassifier(comparison: comparison, furthest: furthest).finding(side).map { _ in id }
            } catch let error as TableError where error.code == .invalidRow {
                return id
            }
        }
        return found.compactMap(\.self).sorted()
    }

    // MARK: Reporting

    /// Repairs a finding if the options request it, counts it and reports it.
    mutating func tell(
        _ finding: VerifyFinding, _ repair: (Verifier, VerifyFinding) async throws -> VerifyFinding.Outcome
    ) async throws {
        try await restoreAndReport(try await repaired(finding, repair))
    }

    private func repaired(
        _ finding: VerifyFinding, _ repair: (Verifier, VerifyFinding) async throws -> VerifyFinding.Outcome
    ) async throws -> VerifyFinding {
        try Task.checkCancellation()
        var finding = finding
        guard options.repairs else { return finding }
        finding.settle(try await repair(self, finding))
        return finding
    }

    private mutating func restoreAndReport(_ found: VerifyFinding) async throws {
        var finding = found
        if options.repairs { try await restore(&finding) }
        progress.report.count(finding)
        try await onFinding(finding)
    }

    /// Restores the correct bytes of a loss from an original, if one has them.
    private func restore(_ finding: inout VerifyFinding) async throws {
        guard let originals = options.originals, let id = finding.fileID, finding.isLoss || finding.needsOriginal
        else { return }
        guard let outcome = try await repairer.restore(id, originals) else { return }
        finding.repair = .restore
        finding.settle(outcome)
        if case .underWay = outcome { finding.message += " An original has the correct bytes." }
    }

    /// Reports a row that another program has written. It is one finding and does not end the verification.
    mutating func tell(unreadable problem: TableError) async throws {
        let finding = VerifyFinding(
            kind: .unreadableRow, fileID: problem.fileID, key: "", message: problem.message)
        try await tell(finding) { _, _ in .found }
    }

    func requireStore() async throws {
        let store = store
        try await BlockingPool.shared.run { _ in try store.requireUnchanged() }
    }
}
