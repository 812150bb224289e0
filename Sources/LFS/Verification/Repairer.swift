import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Carries out repairs. None of them can lose the only copy of anything: bytes go only when they are orphans or when
/// proven ones are durable in their place.
struct Repairer: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let orphans: Orphans
    let namespace: Namespace
    let reader: FileReader
    let uploads: UploadQueue
    let restorer: FileRestorer
    /// Of those who mend the local copy of one file.
    let turns: Turns<FileID>
    let wallClock: @Sendable () -> Date
    /// Called when deletions were queued.
    let wake: @Sendable () -> Void

    /// Mends what a comparison has found, and notes a loss.
    ///
    /// - Returns: what came of it; ``VerifyFinding/Outcome/failed(_:)`` when the storage or the disk refused.
    /// - Throws: when the store is not the one that was opened, when the database fails, and when the task is
    ///   cancelled.
    func repair(_ finding: VerifyFinding, _ comparison: FileComparison) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        do {
            switch finding.repair {
            case .upload:
                try await uploads.queue(comparison.file.id)
                return .underWay
            case .fetch:
                switch try await fetch(comparison, for: .prefetch) {
                case .mended: return comparison.file.status == .local ? .underWay : .repaired
                case .replaced: return .failed(Self.isReplaced)
                case .notHere: return .failed(Self.isNotHere)
                case .wrongObject: return .noted
                }
            case .quarantine:
                guard try await quarantine(comparison) else { return .failed(Self.isReplaced) }
                if !finding.isLoss { return .repaired }
            case .clear:
                try await clear(comparison.file.id)
                return .repaired
            case .discard, .putBack, .remove, .retry, .restore, nil: break
            }
            guard finding.isLoss else { return .found }
            if !comparison.row.isNotedAsLost { try await note(comparison.file.id, finding.message) }
            return .noted
        } catch let error as StorageError where error.code != .cancelled {
            return .failed(error.message)
        } catch let error as FileError where error.code != .wrongStore {
            return .failed(error.message)
        } catch let error as LFSError where ![.wrongStore, .cancelled, .notRunning].contains(error.code) {
            return .failed(error.message)
        } catch let error as SystemError {
            return .failed("\(error)")
        }
    }

    /// Notes what is wrong with the object of a file whose right bytes are here, or may be, so that nothing frees them
    /// before it is mended.
    ///
    /// - Throws: when the database fails.
    func keepBytes(_ finding: VerifyFinding, _ comparison: FileComparison) async throws {
        guard finding.repair == .upload || comparison.local == .unknown, comparison.file.status == .remote,
            comparison.row.job == nil
        else { return }
        let (id, message, now) = (comparison.file.id, finding.message, wallClock().millisecondsSince1970)
        try await runner.write { db in
            switch finding.kind {
            case .missingRemotely: try JobTable.noteMissing(of: id, message, now: now, db)
            case .wrongLengthRemotely, .corruptedRemotely: try JobTable.noteDamage(of: id, message, now: now, db)
            default: break
            }
        }
    }

    /// Puts the right bytes of the storage in the place of a damaged local copy.
    ///
    /// - Returns: whether it was damaged; not for one who comes while another one mends it.
    /// - Throws: when they cannot be had.
    func mendCopy(of id: FileID) async throws -> Bool {
        let use = places.inUse.begin(id)
        defer { withExtendedLifetime(use) {} }
        return try await turns.withTurn(id) {
            // Another process may have put another file there meanwhile, right or damaged: that one is compared then.
            for _ in 0..<Self.maxLooks {
                guard let comparison = try await damagedCopy(of: id) else { return false }
                switch try await fetch(comparison, for: .reader) {
                case .mended: return true
                case .replaced: continue
                case .notHere: throw LFSError(.sourceChanged, Self.isNotHere, fileID: id)
                case .wrongObject:
                    throw LFSError(.sourceChanged, "The object has other bytes as well.", fileID: id)
                }
            }
            throw LFSError(.sourceChanged, Self.isReplaced, fileID: id)
        }
    }

    /// How often a copy is looked at that somebody else replaces meanwhile.
    private static let maxLooks = 3

    /// - Returns: nil when the local copy is right, or not there.
    /// - Throws: when it is damaged, and the storage does not say that it has the right bytes.
    private func damagedCopy(of id: FileID) async throws -> FileComparison? {
        _ = try await reader.row(of: id)
        try await requireStore()
        // Readers take a copy from there as well; what is compared and mended is the one in the store.
        let places = places
        try await BlockingPool.shared.run { _ in try places.promoteByRename(id) }
        let comparer = FileComparer(runner: runner, places: places, namespace: namespace, storage: reader.storage)
        // Nil is one that is in motion, or that was deleted meanwhile.
        guard let comparison = try await comparer.compare(id) else { return nil }
        // How far its upload is put off says nothing of its bytes.
        let finding = Diagnosis(comparison: comparison, furthest: .max).finding(.local)
        guard let finding, finding.kind.isOfLocalBytes else { return nil }
        guard finding.repair == .fetch else { throw LFSError(.sourceChanged, finding.message, fileID: id) }
        return comparison
    }

    /// Gives a file that would be lost the right bytes of one of its originals.
    ///
    /// - Returns: what came of it; nil when no original has them.
    /// - Throws: as ``repair(_:_:)``, and what asking for the originals throws.
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
                // The right bytes may be there, and have no place here.
                return .failed(error.message)
            }
        }
        return nil
    }

    /// Whether another original may do, or there is nothing to be mended any more.
    private static func tellsOfOriginal(_ code: LFSError.Code) -> Bool {
        [.sourceChanged, .sourceFailed, .missing, .notAFile, .unknownFile].contains(code)
    }

    /// Deletes an orphan, here and on the remote storage.
    func remove(_ finding: VerifyFinding, _ age: Orphans.Age) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        guard let id = finding.fileID else { return .found }
        guard let isBegun = try await orphans.remove(id, age, namespace: namespace) else {
            return .failed("The database has lost rows since the verification began. Verify again.")
        }
        wake()
        return isBegun ? .underWay : .repaired
    }

    /// Lets a deletion be tried again now, with its count of tries at zero.
    func retryDeletion(of finding: VerifyFinding) async throws -> VerifyFinding.Outcome {
        guard let id = finding.fileID else { return .found }
        try await runner.write { db in try TombstoneTable.retry(id, db) }
        wake()
        return .underWay
    }

    /// Removes what is in quarantine of a file whose right bytes are in the store: what a mend has left that was cut.
    func discardQuarantined(of file: FileRow) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        do {
            return try await clearQuarantine(of: file) ? .repaired : .found
        } catch let error as SystemError {
            return .failed("\(error)")
        }
    }

    /// Gives right bytes in quarantine their place in the store again, in which others stand, or none.
    func putBack(_ file: FileRow, from name: String) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        let use = places.inUse.begin(file.id)
        defer { withExtendedLifetime(use) {} }
        return try await turns.withTurn(file.id) {
            do {
                guard try await restoreQuarantined(name, of: file) else { return .failed(Self.isReplaced) }
                try await reader.requireRow(file.id, "put back")
                return .repaired
            } catch let error as SystemError {
                return .failed("\(error)")
            } catch let error as LFSError where error.code == .unknownFile {
                return .failed(error.message)
            }
        }
    }

    private func restoreQuarantined(_ name: String, of file: FileRow) async throws -> Bool {
        let store = places.store
        return try await BlockingPool.shared.run { flag in
            if let standing = try store.status(of: file.id) {
                if try store.hasRightBytes(of: file, flag) { return true }
                guard try store.quarantine(file.id, examined: standing) != nil else { return false }
            }
            return try store.putBack(file.id, named: name)
        }
    }

    /// Removes what is in quarantine of a file whose row is durably gone.
    func removeQuarantined(of finding: VerifyFinding) async throws -> VerifyFinding.Outcome {
        guard let id = finding.fileID else { return .found }
        try await requireStore()
        let store = places.store
        try await runner.writeDurably { _ in }
        try await BlockingPool.shared.run { _ in try store.removeQuarantined(id) }
        return .repaired
    }

    private func requireStore() async throws {
        let store = places.store
        try await BlockingPool.shared.run { _ in try store.requireUnchanged() }
    }

    // MARK: Local bytes

    /// What came of a fetch.
    private enum Fetched {
        /// The right bytes are here.
        case mended
        /// Another file stands in the place of the one that was looked at, and nothing was fetched.
        case replaced
        /// The right bytes are not in the store: another folder of this database has the file as well, and nothing was
        /// fetched then, or somebody has removed the copy right after it came.
        case notHere
        /// The storage said nothing of its checksum before; now its bytes are known to be others, which is noted.
        case wrongObject
    }

    private static let isReplaced = "The file was replaced meanwhile."
    private static let isNotHere =
        "The right bytes are not in the local store: its bytes are in another folder as well, or were removed again."

    private func fetch(_ comparison: FileComparison, for urgency: DownloadUrgency) async throws -> Fetched {
        let file = comparison.file
        if case .present = comparison.localFile, try await !quarantine(comparison) { return .replaced }
        do {
            try await reader.fetch(file, for: urgency)
        } catch let error as LFSError where error.code == .sourceChanged {
            try await note(file.id, error.message)
            return .wrongObject
        }
        guard try await clearQuarantine(of: file) else { return .notHere }
        if file.status == .local { try await uploads.queue(file.id) } else { try await clear(file.id) }
        return .mended
    }

    /// Removes what is in quarantine of a file if its right bytes are durable in the store.
    ///
    /// - Returns: whether they are.
    private func clearQuarantine(of file: FileRow) async throws -> Bool {
        let store = places.store
        return try await BlockingPool.shared.run { flag in
            try store.removeQuarantined(file.id) { try store.hasRightBytes(of: file, flag) }
        }
    }

    /// Returns false when another file stands in the place of the one that was looked at.
    private func quarantine(_ comparison: FileComparison) async throws -> Bool {
        guard case .present(let status, _) = comparison.localFile else { return true }
        let store = places.store
        return try await BlockingPool.shared.run { _ in
            try store.quarantine(comparison.file.id, examined: status) != nil
        }
    }

    // MARK: Losses

    private func note(_ id: FileID, _ reason: String) async throws {
        let now = wallClock().millisecondsSince1970
        try await runner.write { db in try JobTable.noteLoss(of: id, reason, now: now, db) }
    }

    /// Removes the note of a loss that is none any more.
    private func clear(_ id: FileID) async throws {
        try await runner.write { db in try JobTable.removeNote(of: id, db) }
    }
}

extension LocalStore {
    /// Whether it has the recorded bytes of a file, on the device. What cannot be read is not right. Blocks the thread.
    func hasRightBytes(of file: FileRow, _ flag: CancellationFlag) throws -> Bool {
        try hasRightBytes(of: file, flag) { () throws(SystemError) in try open(file.id) }
    }

    /// Whether a file in quarantine has the recorded bytes, on the device. Blocks the thread.
    func hasRightBytes(inQuarantine name: String, of file: FileRow, _ flag: CancellationFlag) throws -> Bool {
        try hasRightBytes(of: file, flag) { () throws(SystemError) in try openQuarantined(name) }
    }

    private func hasRightBytes(
        of file: FileRow, _ flag: CancellationFlag, _ open: () throws(SystemError) -> Descriptor?
    ) throws -> Bool {
        do {
            guard let copy = try open() else { return false }
            let status = try copy.status()
            guard status.isRegularFile, status.byteCount == file.byteCount else { return false }
            let hash = try ContentHash(of: copy, byteCount: file.byteCount, flag)
            guard hash.byteCount == file.byteCount, hash.hex == file.sha256 else { return false }
            // A person may have put them there.
            try copy.synchronize()
            return true
        } catch is SystemError {
            return false
        }
    }
}
