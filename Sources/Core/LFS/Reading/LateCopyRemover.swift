import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// A remover of local copies that arrived after their file was deleted.
///
/// A deletion removes the local bytes only once, so a copy that arrives later would stay forever. But the copy may have
/// the only bytes of the file: a held deletion may be rejected, a new insertion may cancel it, and a power failure may
/// undo its commit. So the copy is removed only when the deletion cannot be undone any more, in the same steps as those
/// of ``CopyRemover``.
struct LateCopyRemover: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations

    /// Removes the copy of a deleted file. Keeps it if its row is back, and if its deletion has not begun and will
    /// remove the copy itself.
    func remove(_ id: FileID) async throws {
        let isDeleted = try await DiskSpace.withReserve(of: places.store) {
            try await runner.writeDurably { db in try Self.isDeleted(id, db) }
        }
        guard isDeleted else { return }
        let (places, taken) = (places, ResultBox<String>())
        let removal = await Result.catching {
            try await runner.writeAlone { db -> Void in
                guard try Self.isDeleted(id, db), let name = try places.setAside(id) else { return }
                taken.put(name)
            }
        }
        // A copy without a name is removed in any case, also after an error.
        if let name = taken.value {
            try await BlockingPool.shared.run { _ in try places.store.removeSetAside(name) }
        }
        try removal.get()
    }

    private static func isDeleted(_ id: FileID, _ db: Database) throws -> Bool {
        try !FileTable.contains(id, db) && !TombstoneTable.mayBeUndone(id, db)
    }
}
