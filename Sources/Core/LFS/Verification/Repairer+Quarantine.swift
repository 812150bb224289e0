import LFSDatabase
import LFSFiles
import LFSSystem

/// Removal and restoration of bytes in quarantine.
extension Repairer {
    /// Removes the quarantined bytes of a file whose correct bytes are in the store. An interrupted repair has left
    /// them.
    func discardQuarantined(of file: FileRow) async throws -> VerifyFinding.Outcome {
        try await turns.withTurn(file.id) {
            try await catching { try await clearQuarantine(of: file) ? .repaired : .found }
        }
    }

    /// Moves correct bytes from quarantine back into the store. Other bytes in their place are removed in the same
    /// step.
    func putBack(_ file: FileRow, from name: String) async throws -> VerifyFinding.Outcome {
        let use = places.inUse.begin(file.id)
        defer { withExtendedLifetime(use) {} }
        return try await turns.withTurn(file.id) {
            try await catching {
                guard try await restoreQuarantined(name, of: file) else { return .failed(Self.isReplaced) }
                return try await returnIfDeleted(file.id) ? .failed(Self.isDeleted) : .repaired
            }
        }
    }

    private static let isDeleted = "Its row was deleted during the repair."

    private func restoreQuarantined(_ name: String, of file: FileRow) async throws -> Bool {
        let places = places
        return try await BlockingPool.shared.run { flag in
            // The bytes may have changed since they were reported.
            guard try places.store.hasRightBytes(inQuarantine: name, of: file, flag) else { return false }
            return try places.putBack(file.id, named: name)
        }
    }

    /// Moves a file whose row is deleted back into quarantine. The deletion of the row may not be durable, and these
    /// may be the only bytes. The deletion removes them from quarantine, or the next verification reports them.
    func returnIfDeleted(_ id: FileID) async throws -> Bool {
        guard try await runner.read({ db in try FileTable.state(of: id, db) }) == nil else { return false }
        let store = places.store
        try await BlockingPool.shared.run { _ in
            if let status = try store.status(of: id) { _ = try store.quarantine(id, examined: status) }
        }
        return true
    }

    private func catching(
        _ body: () async throws -> VerifyFinding.Outcome
    ) async throws -> VerifyFinding.Outcome {
        try await requireStore()
        do {
            return try await body()
        } catch let error as SystemError {
            return .failed("\(error)")
        } catch let error as FileError where error.code != .wrongStore {
            return .failed(error.message)
        }
    }

    /// Removes the quarantined bytes of a file whose row is durably deleted.
    func removeQuarantined(of finding: VerifyFinding) async throws -> VerifyFinding.Outcome {
        guard let id = finding.fileID else { return .found }
        try await requireStore()
        let store = places.store
        try await runner.writeDurably { _ in }
        try await BlockingPool.shared.run { _ in try store.removeQuarantined(id) }
        return .repaired
    }
}

/// The result of reading the bytes of a local file.
enum LocalContent: Sendable {
    case right
    /// The bytes differ from the recorded ones, or are missing.
    case wrong
    /// The bytes could not be read. Their content is unknown.
    case unreadable(SystemError)
}

extension LocalStore {
    /// Returns whether the store has the recorded bytes of a file, durably. Bytes that cannot be read count as wrong.
    /// Blocks the thread.
    func hasRightBytes(of file: FileRow, _ flag: CancellationFlag) throws -> Bool {
        if case .right = try content(of: file, flag) { true } else { false }
    }

    /// Returns whether a file in quarantine has the recorded bytes, durably. Blocks the thread.
    func hasRightBytes(inQuarantine name: String, of file: FileRow, _ flag: CancellationFlag) throws -> Bool {
        if case .right = try content(inQuarantine: name, of: file, flag) { true } else { false }
    }

    func content(of file: FileRow, _ flag: CancellationFlag) throws -> LocalContent {
        try content(of: file, flag) { () throws(SystemError) in try open(file.id) }
    }

    func content(inQuarantine name: String, of file: FileRow, _ flag: CancellationFlag) throws -> LocalContent {
        try content(of: file, flag) { () throws(SystemError) in try openQuarantined(name) }
    }

    private func content(
        of file: FileRow, _ flag: CancellationFlag, _ open: () throws(SystemError) -> Descriptor?
    ) throws -> LocalContent {
        do {
            guard let copy = try open() else { return .wrong }
            let status = try copy.status()
            guard status.isRegularFile, status.byteCount == file.byteCount else { return .wrong }
            let hash = try ContentHash(of: copy, byteCount: file.byteCount, flag)
            guard hash.byteCount == file.byteCount, hash.hex == file.sha256 else { return .wrong }
            // A person may have copied the bytes to this place, so they may not be durable yet.
            try copy.synchronize()
            return .right
        } catch let error as SystemError where !error.isShortage {
            return .unreadable(error)
        }
    }
}
