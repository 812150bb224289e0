import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// The repairs of a verification. No repair can lose the only copy of any bytes. Bytes are removed only when they are
/// orphans, or when proven bytes are durable in their place.
struct Repairer: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let orphans: Orphans
    let namespace: Namespace
    let reader: FileReader
    let uploads: UploadQueue
    let restorer: FileRestorer
    /// Repairs of the local copy of one file run one at a time.
    let turns: KeyedMutex<FileID>
    let wallClock: @Sendable () -> Date
    let clock: any Clock<Duration>
    /// Called after deletions were queued.
    let wake: @Sendable () -> Void

    /// Repairs a finding of a comparison, and records a loss.
    ///
    /// - Returns: the outcome. ``VerifyFinding/Outcome/failed(_:)`` when the storage or the disk refused.
    /// - Throws: an error when the store is not the one that was opened, when the database fails, and when the task is
    ///   cancelled.
    func repair(_ finding: VerifyFinding, comparison: FileComparison) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        do {
            switch finding.repair {
            case .upload:
                try await uploads.queue(comparison.file.id)
                return .underWay
            case .fetch:
                switch try await fetch(comparison) {
                case .repaired: return comparison.file.status == .local ? .underWay : .repaired
                case .replaced: return .failed(Self.isReplaced)
                case .notHere: return .failed(Self.isNotHere)
                case .wrongObject: return .noted
                }
            case .quarantine:
                if case .replaced = try await quarantine(comparison) { return .failed(Self.isReplaced) }
                if !finding.isLoss { return .repaired }
            case .clear:
                try await clear(comparison)
                return .repaired
            case .discard, .putBack, .remove, .retry, .restore, nil: break
            }
            guard finding.isLoss else { return .found }
            if !comparison.row.isNotedAsLost { try await note(comparison.file.id, reason: finding.message) }
            return .noted
        } catch let error as StorageError where error.code != .cancelled {
            return .failed(error.message)
        } catch let error as FileError where error.code != .wrongStore {
            return .failed(error.message)
        } catch let error as LFSError where ![.wrongStore, .cancelled, .notRunning, .suspended].contains(error.code) {
            return .failed(error.message)
        } catch let error as SystemError {
            return .failed("\(error)")
        }
    }

    /// Records the problem of a file's object. The correct local bytes, if there are any, are then not evicted before
    /// the repair, and the problem is known before a repair. A missing object is recorded as gone, not as lost.
    ///
    /// - Throws: an error when the database fails.
    func noteObject(_ finding: VerifyFinding, comparison: FileComparison) async throws {
        guard finding.repair == .upload || finding.isLoss || comparison.local == .unknown,
            comparison.file.status == .remote, comparison.row.job == nil,
            ![.good, .unknown].contains(comparison.remote)
        else { return }
        let (id, message, now) = (comparison.file.id, finding.message, wallClock().millisecondsSince1970)
        try await runner.write { db in
            if finding.isLoss || comparison.remote == .missing {
                // The storage reports this itself, and may report otherwise later.
                try JobTable.noteMissing(of: id, message, hasBytes: !finding.isLoss, now: now, db)
            } else {
                try JobTable.noteDamage(of: id, message, now: now, db)
            }
        }
        places.marks?.note(id)
    }

    /// Replaces a damaged local copy with the correct bytes from the storage.
    ///
    /// - Returns: whether it was damaged. False for a caller that arrives while another one repairs it.
    /// - Throws: an error when the correct bytes cannot be obtained.
    func mendCopy(of id: FileID) async throws -> Bool {
        let use = places.inUse.begin(id)
        defer { withExtendedLifetime(use) {} }
        return try await turns.withTurn(id) {
            // Another process may have replaced the copy during the repair, with a correct or a damaged one. Then that
            // one is compared.
            for _ in 0..<Self.maxLooks {
                guard let comparison = try await damagedCopy(of: id) else { return false }
                switch try await fetch(comparison) {
                case .repaired: return true
                case .replaced: continue
                case .notHere: throw LFSError(.sourceChanged, message: Self.isNotHere, fileID: id)
                case .wrongObject:
                    throw LFSError(.sourceChanged, message: "The bytes of the object are wrong too.", fileID: id)
                }
            }
            throw LFSError(.sourceChanged, message: Self.isReplaced, fileID: id)
        }
    }

    /// The maximum number of attempts when the copy is replaced during the repair.
    private static let maxLooks = 3

    /// - Returns: nil when the local copy is correct, or does not exist.
    /// - Throws: an error when it is damaged, and the storage does not confirm that it has the correct bytes.
    private func damagedCopy(of id: FileID) async throws -> FileComparison? {
        _ = try await reader.row(of: id)
        try await requireStore()
        // Readers use staged copies as well. The copy in the store is compared and repaired.
        let places = places
        try await BlockingPool.shared.run { _ in try places.promoteByRename(id) }
        let comparer = FileComparer(
            runner: runner, places: places, namespace: namespace, storage: reader.storage, clock: clock)
        // Nil means that the row keeps changing, or was deleted.
        guard let comparison = try await comparer.compare(id) else { return nil }
        // The due time of its upload is irrelevant for its bytes.
        let finding = FindingClassifier(comparison: comparison, furthest: .max).finding(.local)
        guard let finding, finding.kind.isOfLocalBytes else { return nil }
        if finding.repair == .fetch { return comparison }
        // It is unknown whether they are damaged.
        if case .unreadable(_, let error) = comparison.localFile { throw error }
        throw LFSError(.sourceChanged, message: finding.message, fileID: id)
    }

    /// Restores a file that would otherwise be lost, from an original with the correct bytes.
    ///
    /// - Returns: the outcome. Nil when no original has the correct bytes.
    /// - Throws: the errors of ``repair(_:_:)``, and the errors of `originals`.
    func restore(
        _ id: FileID, _ originals: @Sendable (FileID) async throws -> [FileSource]
    ) async throws -> VerifyFinding.Outcome? {
        try await requireStore()
        for original in try await originals(id) {
            do {
                try await LFSError.catching(about: id) { try await restorer.restore(id, from: original) { _ in } }
                return .underWay
            } catch let error as LFSError where Self.tellsOfOriginal(error.code) {
                continue
            } catch let error as LFSError where [.noSpace, .permissionDenied, .readOnly, .system].contains(error.code) {
                // The correct bytes may exist, but this device cannot store them.
                return .failed(error.message)
            }
        }
        return nil
    }

    /// Returns true if another original may have the bytes, or if the file no longer exists.
    private static func tellsOfOriginal(_ code: LFSError.Code) -> Bool {
        [.sourceChanged, .sourceFailed, .missing, .notAFile, .unknownFile].contains(code)
    }

    /// Deletes an orphan, on this device and on the remote storage.
    func remove(_ finding: VerifyFinding, age: Orphans.Age) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        guard let id = finding.fileID else { return .found }
        guard let isBegun = try await orphans.remove(id, age: age, namespace: namespace) else {
            return .failed("The database has lost rows since the verification began. Verify again.")
        }
        wake()
        return isBegun ? .underWay : .repaired
    }

    /// Retries a deletion now, and resets its count of attempts to zero.
    func retryDeletion(of finding: VerifyFinding) async throws -> VerifyFinding.Outcome {
        guard let id = finding.fileID else { return .found }
        try await runner.write { db in try TombstoneTable.retry(id, db) }
        wake()
        return .underWay
    }

    func requireStore() async throws {
        let store = places.store
        try await BlockingPool.shared.run { _ in try store.requireUnchanged() }
    }

    // MARK: Local bytes

    /// The result of a download for a repair.
    private enum Fetched {
        /// The correct bytes are on this device.
        case repaired
        /// Another file has replaced the one that was examined, and nothing was downloaded.
        case replaced
        /// The correct bytes are not in the store. Either another folder of this database also has the file, and
        /// nothing was downloaded, or the copy was removed right after its download.
        case notHere
        /// The storage gave no checksum before. Now its bytes are known to be wrong, which is recorded.
        case wrongObject
    }

    static let isReplaced = "The file was replaced during the repair."
    private static let isNotHere =
        "The correct bytes are not in the local store: the file is in another folder as well, or was removed again."

    private func fetch(_ comparison: FileComparison) async throws -> Fetched {
        let file = comparison.file
        let aside = try await quarantine(comparison)
        if case .replaced = aside { return .replaced }
        do {
            // With the urgency of a reader also for a verification. It repairs one file at a time, and a reader may
            // wait for that.
            try await reader.fetch(file, for: .reader)
        } catch {
            try await putBack(aside, comparison: comparison)
            guard let error = error as? LFSError, error.code == .sourceChanged, comparison.local != .unknown else {
                throw error
            }
            try await note(file.id, reason: error.message)
            return .wrongObject
        }
        guard try await clearQuarantine(of: file) else {
            try await putBack(aside, comparison: comparison)
            return .notHere
        }
        // For a `remote` file the download has removed the recorded problem, if the bytes came from its object.
        if file.status == .local { try await uploads.queue(file.id) }
        return .repaired
    }

    /// Removes the quarantined bytes of a file if its correct bytes are durable in the store.
    ///
    /// - Returns: whether they are durable.
    func clearQuarantine(of file: FileRow) async throws -> Bool {
        let store = places.store
        return try await BlockingPool.shared.run { flag in
            try store.removeQuarantined(file.id) { try store.hasRightBytes(of: file, flag) }
        }
    }

    /// The result of moving the examined local bytes aside.
    private enum SetAside {
        /// The file had no local bytes.
        case absent
        /// They have this name in quarantine.
        case moved(String)
        /// Another file has replaced them, and was not moved.
        case replaced
    }

    private func quarantine(_ comparison: FileComparison) async throws -> SetAside {
        guard let status = comparison.localFile.status else { return .absent }
        let store = places.store
        return try await BlockingPool.shared.run { _ in
            try store.quarantine(comparison.file.id, examined: status).map { .moved($0) } ?? .replaced
        }
    }

    /// Moves bytes back that could not be read, and may be correct. If their place is taken by now, they stay in
    /// quarantine.
    private func putBack(_ aside: SetAside, comparison: FileComparison) async throws {
        guard comparison.local == .unknown, case .moved(let name) = aside else { return }
        let (id, store) = (comparison.file.id, places.store)
        if try await BlockingPool.shared.run({ _ in try store.putBack(id, named: name) }) {
            _ = try await returnIfDeleted(id)
        }
    }

    // MARK: Losses

    private func note(_ id: FileID, reason: String) async throws {
        let now = wallClock().millisecondsSince1970
        try await runner.write { db in try JobTable.noteLoss(of: id, reason, now: now, db) }
    }

    /// Removes the record of a problem that no longer exists. If only the size of the object is confirmed now, it may
    /// be another object than the one that was proven before.
    private func clear(_ comparison: FileComparison) async throws {
        let (id, isProven) = (comparison.file.id, comparison.isProvenRemote)
        try await runner.write { db in
            if !isProven { try FileTable.withdrawProof(id, db) }
            try JobTable.removeNote(of: id, db)
        }
        places.marks?.note(id)
    }
}
