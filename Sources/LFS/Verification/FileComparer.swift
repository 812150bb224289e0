import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Compares one file on all three sides, right before something is said of it or done to it.
///
/// Uploads, deletions, promotions and downloads go on meanwhile, here and in other processes. So the row is read before
/// and after, and the file's status as well: what changed in between is compared again, and what keeps changing is in
/// use and no finding.
struct FileComparer: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let namespace: Namespace
    /// Nil when the remote storage is not to be asked.
    let storage: (any RemoteStorage)?
    /// Times the pause before a second reading.
    let clock: any Clock<Duration>
    /// Whether somebody has said that folders which are away are gone for good.
    var ignoresAbsentFolders = false

    private static let tries = 5

    /// All three sides of a file; nil when its row is gone, or in motion.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` when the store was swapped, and every error but "missing" of the
    ///   storage.
    func compare(_ id: FileID) async throws -> FileComparison? {
        for _ in 0..<Self.tries {
            try Task.checkCancellation()
            guard let row = try await runner.read({ db in try FileTable.state(of: id, db) }) else { return nil }
            let (localFile, closedPlaces) = try await readLocal(row.file)
            let object = try await askRemote(row.file)
            let isSame = try await isUnchanged(id, localFile)
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
        guard case .absent = localFile, file.status == .local else { return (localFile, []) }
        try await MissingFileSearch(runner: runner, places: places).refreshPlaces()
        let (places, ignoresAbsentFolders) = (places, ignoresAbsentFolders)
        let (isFound, closed) = try await BlockingPool.shared.run { _ in
            // Between commit and promotion: whoever needs the bytes moves them.
            return (try places.promote(id), ignoresAbsentFolders ? [] : places.closed.map(\.path))
        }
        return (isFound ? try await readTwice(id) : .absent, closed)
    }

    /// Reads a second time, after a pause, what could not be read: a disk or a share may fail for a moment.
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
                // An empty mount in its place must not look like a lost file.
                try store.requireUnchanged()
                return .absent
            }
            do {
                guard status.isRegularFile, let file = try store.open(id) else { return .present(status, sha256: nil) }
                let opened = try file.status()
                let hash = try ContentHash(of: file, byteCount: opened.byteCount, flag)
                return .present(opened, sha256: hash.hex)
            } catch let error as SystemError where !error.isShortage {
                // A bad sector, a disk that fails for a moment, or a file that this user may not read.
                try store.requireUnchanged()
                return .unreadable(status, error)
            }
        }
    }

    private func isUnchanged(_ id: FileID, _ localFile: FileComparison.LocalFile) async throws -> Bool {
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
