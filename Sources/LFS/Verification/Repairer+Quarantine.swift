import LFSDatabase
import LFSFiles
import LFSSystem

/// What becomes of the bytes in quarantine.
extension Repairer {
    /// Removes what is in quarantine of a file whose right bytes are in the store: what a mend has left that was cut.
    func discardQuarantined(of file: FileRow) async throws -> VerifyFinding.Outcome {
        try await turns.withTurn(file.id) {
            try await catching { try await clearQuarantine(of: file) ? .repaired : .found }
        }
    }

    /// Gives right bytes in quarantine their place in the store again. Others that stand there go in the same moment.
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

    private static let isDeleted = "Its row was deleted meanwhile."

    private func restoreQuarantined(_ name: String, of file: FileRow) async throws -> Bool {
        let places = places
        return try await BlockingPool.shared.run { flag in
            // Since it was told, somebody may have written to it.
            guard try places.store.hasRightBytes(inQuarantine: name, of: file, flag) else { return false }
            return try places.putBack(file.id, named: name)
        }
    }

    /// Moves a file whose row is gone back into quarantine: the end of the row may not be durable, and these may be all
    /// bytes that there are. The deletion takes them from there, or the next verification tells of them.
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

    /// Removes what is in quarantine of a file whose row is durably gone.
    func removeQuarantined(of finding: VerifyFinding) async throws -> VerifyFinding.Outcome {
        guard let id = finding.fileID else { return .found }
        try await requireStore()
        let store = places.store
        try await runner.writeDurably { _ in }
        try await BlockingPool.shared.run { _ in try store.removeQuarantined(id) }
        return .repaired
    }
}

/// What reading the bytes of a local file has shown.
enum LocalContent: Sendable {
    case right
    /// Other bytes than the recorded ones, or none.
    case wrong
    /// No bytes came, which says nothing of them.
    case unreadable(SystemError)
}

extension LocalStore {
    /// Whether it has the recorded bytes of a file, on the device. What cannot be read is not right. Blocks the thread.
    func hasRightBytes(of file: FileRow, _ flag: CancellationFlag) throws -> Bool {
        if case .right = try content(of: file, flag) { true } else { false }
    }

    /// Whether a file in quarantine has the recorded bytes, on the device. Blocks the thread.
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
            // A person may have put them there.
            try copy.synchronize()
            return .right
        } catch let error as SystemError where !error.isShortage {
            return .unreadable(error)
        }
    }
}
