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
    let clock: any Clock<Duration>
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
                switch try await fetch(comparison) {
                case .mended: return comparison.file.status == .local ? .underWay : .repaired
                case .replaced: return .failed(Self.isReplaced)
                case .notHere: return .failed(Self.isNotHere)
                case .wrongObject: return .noted
                }
            case .quarantine:
                if case .replaced = try await quarantine(comparison) { return .failed(Self.isReplaced) }
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

    /// Notes what is wrong with the object of a file, so that nothing frees the right bytes, if they are here, before
    /// it is mended, and so that it is known before somebody repairs it. It is known as gone then, not as lost.
    ///
    /// - Throws: when the database fails.
    func noteObject(_ finding: VerifyFinding, _ comparison: FileComparison) async throws {
        guard finding.repair == .upload || finding.isLoss || comparison.local == .unknown,
            comparison.file.status == .remote, comparison.row.job == nil,
            ![.good, .unknown].contains(comparison.remote)
        else { return }
        let (id, message, now) = (comparison.file.id, finding.message, wallClock().millisecondsSince1970)
        try await runner.write { db in
            if finding.isLoss || comparison.remote == .missing {
                // As the storage says itself, which may say another thing tomorrow.
                try JobTable.noteMissing(of: id, message, hasBytes: !finding.isLoss, now: now, db)
            } else {
                try JobTable.noteDamage(of: id, message, now: now, db)
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
                switch try await fetch(comparison) {
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
        let comparer = FileComparer(
            runner: runner, places: places, namespace: namespace, storage: reader.storage, clock: clock)
        // Nil is one that is in motion, or that was deleted meanwhile.
        guard let comparison = try await comparer.compare(id) else { return nil }
        // How far its upload is put off says nothing of its bytes.
        let finding = Diagnosis(comparison: comparison, furthest: .max).finding(.local)
        guard let finding, finding.kind.isOfLocalBytes else { return nil }
        if finding.repair == .fetch { return comparison }
        // Nobody knows whether they are damaged.
        if case .unreadable(_, let error) = comparison.localFile { throw error }
        throw LFSError(.sourceChanged, finding.message, fileID: id)
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

    func requireStore() async throws {
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

    static let isReplaced = "The file was replaced meanwhile."
    private static let isNotHere =
        "The right bytes are not in the local store: its bytes are in another folder as well, or were removed again."

    private func fetch(_ comparison: FileComparison) async throws -> Fetched {
        let file = comparison.file
        let aside = try await quarantine(comparison)
        if case .replaced = aside { return .replaced }
        do {
            // Of a verification as well, which mends one file at a time: a reader may wait for its turn.
            try await reader.fetch(file, for: .reader)
        } catch {
            try await putBack(aside, comparison)
            guard let error = error as? LFSError, error.code == .sourceChanged, comparison.local != .unknown else {
                throw error
            }
            try await note(file.id, error.message)
            return .wrongObject
        }
        guard try await clearQuarantine(of: file) else {
            try await putBack(aside, comparison)
            return .notHere
        }
        // Of a `remote` file the download has removed what was noted, if the bytes came from its object.
        if file.status == .local { try await uploads.queue(file.id) }
        return .mended
    }

    /// Removes what is in quarantine of a file if its right bytes are durable in the store.
    ///
    /// - Returns: whether they are.
    func clearQuarantine(of file: FileRow) async throws -> Bool {
        let store = places.store
        return try await BlockingPool.shared.run { flag in
            try store.removeQuarantined(file.id) { try store.hasRightBytes(of: file, flag) }
        }
    }

    /// What became of the local bytes that were looked at.
    private enum SetAside {
        /// There were none.
        case absent
        /// They have this name in quarantine.
        case moved(String)
        /// Another file stands in their place, and stays there.
        case replaced
    }

    private func quarantine(_ comparison: FileComparison) async throws -> SetAside {
        guard let status = comparison.localFile.status else { return .absent }
        let store = places.store
        return try await BlockingPool.shared.run { _ in
            try store.quarantine(comparison.file.id, examined: status).map { .moved($0) } ?? .replaced
        }
    }

    /// Puts bytes back that could not be read, and may be right. Where something has come into their place meanwhile,
    /// they stay in quarantine.
    private func putBack(_ aside: SetAside, _ comparison: FileComparison) async throws {
        guard comparison.local == .unknown, case .moved(let name) = aside else { return }
        let (id, store) = (comparison.file.id, places.store)
        if try await BlockingPool.shared.run({ _ in try store.putBack(id, named: name) }) {
            _ = try await returnIfDeleted(id)
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
