import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

extension FileLocations {
    /// Opens every place that the database knows, and the one that the options name.
    ///
    /// - Parameter location: the persistence location. Nil for the default one in the store.
    /// - Throws: ``LFSError/Code/folderAbsent`` when the location does not exist, or when the folder in it that holds
    ///   pending files does not. Other absent places are skipped until the next search.
    static func open(
        _ store: LocalStore, location: URL?, runner: BackgroundRunner, marks: BackupMarks? = nil
    ) async throws -> FileLocations {
        let (paths, databasePath) = try await runner.read { db in (try LocationTable.paths(db), db.mainPath) }
        let opened = try await BlockingPool.shared.run { _ in
            let owner = try StagingOwner(of: store)
            return FileLocations(
                store: store, staging: try StagingArea(in: store), owner: owner,
                known: paths.map { StagingPlace.look(at: $0, owner) }, marks: marks)
        }
        guard let location = try await path(of: location, databasePath: databasePath) else { return opened }
        if opened.staging(in: location) == nil { try await opened.requireFolders(in: location, runner) }
        let wasUsed = paths.contains { isFolder($0, in: location) }
        let places = try await BlockingPool.shared.run { _ in
            try FileLocations(opened, stagingIn: location, wasUsed: wasUsed)
        }
        let own = places.staging.path
        if !paths.contains(own) {
            // Durably: bytes that are put into this folder must be found even after a power failure.
            try await runner.writeDurably { db in try LocationTable.add(own, db) }
        }
        return places
    }

    /// Returns the path of the option. A location in the database's container is named as the stored paths are, without
    /// links, because SQLite reports the path of the database without links.
    private static func path(of location: URL?, databasePath: String) async throws -> String? {
        guard let location = location?.absoluteURL.path else { return nil }
        return try await BlockingPool.shared.run { _ in
            let stored = StoredPath.stored(location, databasePath: databasePath)
            return StoredPath.path(ofStored: stored, databasePath: databasePath)
        }
    }

    /// Throws an error when a known folder of the location is absent and may contain bytes. An absent folder is created
    /// again only when no bytes can be in it.
    private func requireFolders(in location: String, _ runner: BackgroundRunner) async throws {
        guard let absent = closed.first(where: { $0.isAbsent && Self.isFolder($0.path, in: location) }) else { return }
        guard try await lacksFiles(runner) else { return }
        throw LFSError(
            .folderAbsent,
            message: """
                The folder \(absent.path) is missing. It may have files that are not uploaded yet. Is the disk of \
                \(location) mounted? If it is lost for good, open the database without this persistence location, and \
                verify with repairs and VerifyOptions.acceptsEmpty.
                """
        )
    }

    private static func isFolder(_ path: String, in location: String) -> Bool { path.hasPrefix(location + "/") }

    /// Returns whether there is a file that this device made and did not upload, whose bytes are in no known place, and
    /// that is not recorded as lost.
    private func lacksFiles(_ runner: BackgroundRunner) async throws -> Bool {
        var isLacking = false
        try await runner.forEachPage { db, last in
            try FileTable.ownLocal(after: last, withLosses: false, limit: 1_000, db)
        } _: { ids in
            isLacking = try await BlockingPool.shared.run { _ in try ids.contains { try !self.contains($0) } }
            return !isLacking
        }
        return isLacking
    }
}
