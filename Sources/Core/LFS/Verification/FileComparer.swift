import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// A comparison of one file on all three sides, right before a finding is reported or repaired.
///
/// Uploads, deletions, promotions and downloads continue during the comparison, on this device and in other processes.
/// So the row and the file's status are read before and after. A file that changed in between is compared again. A file
/// that keeps changing is in use and is not reported.
struct FileComparer: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let namespace: Namespace
    /// Nil when the remote storage must not be asked.
    let storage: (any RemoteStorage)?
    /// The clock for the pause before a second read.
    let clock: any Clock<Duration>
    /// True if the caller has stated that absent folders are gone for good.
    var ignoresAbsentFolders = false

    private static let tries = 5

    /// Compares all three sides of a file. Returns nil when its row is deleted, or keeps changing.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` when the store was swapped, and every error of the storage except
    ///   "missing".
    func compare(_ id: FileID) async throws -> FileComparison? {
        for _ in 0..<Self.tries {
            try Task.checkCancellation()
            guard let row = try await runner.read({ db in try FileTable.state(of: id, db) }) else { return nil }
            let (localFile, closedPlaces) = try await readLocal(row.file)
            let object = try await askRemote(row.file)
            let isSame = try await isUnchanged(id, localFile: localFile)
            let rowNow = try await runner.read { db in try FileTable.state(of: id, db) }
            guard let rowNow, rowNow.withoutTries == row.withoutTries, isSame else { continue }
            return FileComparison(
                row: rowNow, isOurs: namespace.isOurs(row.file.key), localFile: localFile, object: object,
                closedPlaces: closedPlaces)
        }
        return nil
    }

    // MARK: Local

    private func readLocal(_ file: FileRow) async throws -> (FileComparison.LocalFile, closedPlaces: [String]) {
        let id = file.id
        let localFile = try await readTwice(id)
        guard case .absent = localFile else { return (localFile, []) }
        let (original, closedOriginal) = try await readOriginal(file)
        if case .original = original { return (original, []) }
        if file.status != .local { return (.absent, []) }
        try await MissingFileSearch(runner: runner, places: places).refreshPlaces()
        let (places, ignoresAbsentFolders) = (places, ignoresAbsentFolders)
        let (isFound, closed) = try await BlockingPool.shared.run { _ in
            // The file may be between commit and promotion. The comparison needs its bytes in the store.
            return (try places.promote(id), ignoresAbsentFolders ? [] : places.closed.map(\.path))
        }
        return (isFound ? try await readTwice(id) : .absent, closed + closedOriginal)
    }

    /// Reads the original of a file that was attached without a copy, and compares all its bytes. A changed original is
    /// not damage, so it counts as absent.
    private func readOriginal(_ file: FileRow) async throws -> (FileComparison.LocalFile, closedPlaces: [String]) {
        let originals = Originals(runner: runner)
        do {
            switch try await originals.find(
                file.id, byteCount: file.byteCount, sha256: file.sha256, readsAll: true)
            {
            case .none, .changed: return (.absent, [])
            case .away(let path, _): return (.absent, [path])
            case .unchanged: return (.original, [])
            }
        } catch let error as SystemError where !error.isShortage {
            return (.absent, [error.path])
        }
    }

    /// Reads the local bytes, and a second time after a pause if they cannot be read. A disk or a share may fail for a
    /// moment.
    private func readTwice(_ id: FileID) async throws -> FileComparison.LocalFile {
        let first = try await read(id)
        guard case .unreadable = first else { return first }
        try await clock.sleep(for: SecondReading.pause)
        return try await read(id)
    }

    private func read(_ id: FileID) async throws -> FileComparison.LocalFile {
        let store = places.store
        return try await BlockingPool.shared.run { flag in
            guard let status = try store.status(of: id) else {
                // An empty mount point in place of the store must not look like a lost file.
                try store.requireUnchanged()
                return .absent
            }
            do {
                guard status.isRegularFile, let file = try store.open(id) else { return .present(status, sha256: nil) }
                let opened = try file.status()
                let hash = try ContentHash(of: file, byteCount: opened.byteCount, flag)
                return .present(opened, sha256: hash.hex)
            } catch let error as SystemError where !error.isShortage {
                // A bad sector, a disk that fails for a moment, or a file that this user is not permitted to read.
                try store.requireUnchanged()
                return .unreadable(status, error)
            }
        }
    }

    private func isUnchanged(_ id: FileID, localFile: FileComparison.LocalFile) async throws -> Bool {
        let store = places.store
        return try await BlockingPool.shared.run { _ in
            let now = try store.status(of: id)
            guard let then = localFile.status else { return now == nil }
            return now?.hasContent(of: then) ?? false
        }
    }

    // MARK: Remote

    private func askRemote(_ file: FileRow) async throws -> FileComparison.Object {
        guard let storage, let key = ObjectKey.usable(file.key) else { return .notAsked }
        do {
            return .present(try await storage.head(key))
        } catch let error as StorageError where error.isMissing {
            return .absent
        }
    }
}
