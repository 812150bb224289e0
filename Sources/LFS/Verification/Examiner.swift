import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Takes a second look at one file, right before something is said of it or done to it.
///
/// Uploads, deletions, promotions and downloads go on meanwhile, here and in other processes. So the row is read before
/// and after, and the file's status as well: what changed in between is looked at again, and what keeps changing is in
/// use and no finding.
struct Examiner: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let namespace: Namespace
    /// Nil when the remote storage is not to be asked.
    let storage: (any RemoteStorage)?
    /// Whether somebody has said that folders which are away are gone for good.
    var ignoresAbsentFolders = false

    private static let tries = 5

    /// All three sides of a file; nil when its row is gone, or in motion.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` when the store was swapped, and every error but "missing" of the storage.
    func look(at id: FileID) async throws -> Look? {
        for _ in 0..<Self.tries {
            try Task.checkCancellation()
            guard let row = try await runner.read({ db in try FileTable.state(of: id, db) }) else { return nil }
            let (here, closedPlaces) = try await lookHere(row.file)
            let there = try await lookThere(row.file)
            let isSame = try await isUnchanged(id, here)
            let rowNow = try await runner.read { db in try FileTable.state(of: id, db) }
            guard let rowNow, rowNow.withoutTries == row.withoutTries, isSame else { continue }
            return Look(
                row: rowNow, isOurs: namespace.isOurs(row.file.key), here: here, there: there,
                closedPlaces: closedPlaces)
        }
        return nil
    }

    // MARK: Here

    private func lookHere(_ file: FileRow) async throws -> (Look.Here, closedPlaces: [String]) {
        let id = file.id
        let here = try await read(id)
        guard case .absent = here, file.status == .local else { return (here, []) }
        try await Whereabouts(runner: runner, places: places).lookAround()
        let (places, ignoresAbsentFolders) = (places, ignoresAbsentFolders)
        let (isFound, closed) = try await BlockingPool.shared.run { _ in
            // Between commit and promotion: whoever needs the bytes moves them.
            return (try places.promote(id), ignoresAbsentFolders ? [] : places.closed.map(\.path))
        }
        return (isFound ? try await read(id) : .absent, closed)
    }

    private func read(_ id: FileID) async throws -> Look.Here {
        let store = places.store
        return try await BlockingPool.shared.run { flag in
            guard let status = try store.status(of: id) else {
                // An empty mount in its place must not look like a lost file.
                try store.requireUnchanged()
                return .absent
            }
            do {
                guard status.isRegularFile, let file = try store.open(id) else { return .present(status, sha256: nil) }
                let opened = try file.status()
                let hash = try ContentHash(of: file, byteCount: opened.byteCount, flag)
                return .present(opened, sha256: hash.hex)
            } catch is SystemError {
                // A bad sector, or a file that this user may not read: it is here, and nobody can have its bytes.
                try store.requireUnchanged()
                return .present(status, sha256: nil)
            }
        }
    }

    private func isUnchanged(_ id: FileID, _ here: Look.Here) async throws -> Bool {
        let store = places.store
        return try await BlockingPool.shared.run { _ in
            let now = try store.status(of: id)
            switch here {
            case .absent: return now == nil
            // The name of the file may get another link for a moment, which changes its status and not its content.
            case .present(let then, _):
                return now?.inode == then.inode && now?.byteCount == then.byteCount && now?.modified == then.modified
            }
        }
    }

    // MARK: There

    private func lookThere(_ file: FileRow) async throws -> Look.There {
        guard let storage, let key = ObjectKey.usable(file.key) else { return .notAsked }
        do {
            return .present(try await storage.head(key))
        } catch let error as StorageError where error.isMissing {
            return .absent
        }
    }
}
