import Foundation
import GRDB
import LFSFiles
import LFSSystem

extension FilePlaces {
    /// Opens every place that the database knows, and the one that the options name.
    ///
    /// - Parameter location: the persistence location; nil for the default one in the store.
    /// - Throws: ``LFSError/Code/folderAbsent`` when the location is not there, or the folder in it in which files wait;
    ///   other places that are away are passed over until the next look.
    static func open(_ store: LocalStore, location: URL?, _ runner: BackgroundRunner) async throws -> FilePlaces {
        let paths = try await runner.read { db in try String.fetchAll(db, sql: "SELECT path FROM lfs_location") }
        let opened = try await BlockingPool.shared.run { _ in
            let owner = try StagingOwner(of: store)
            return FilePlaces(
                store: store, staging: try StagingArea(in: store), owner: owner,
                known: paths.map { StagingPlace.look(at: $0, owner) })
        }
        guard let location = location?.absoluteURL.path else { return opened }
        if opened.staging(in: location) == nil { try await opened.requireFolders(in: location, runner) }
        let wasUsed = paths.contains { isFolder($0, in: location) }
        let places = try await BlockingPool.shared.run { _ in
            try FilePlaces(opened, stagingIn: location, wasUsed: wasUsed)
        }
        let own = places.staging.path
        if !paths.contains(own) {
            // Durably: the bytes that come to be there must be found even after a power cut.
            try await runner.writeDurably { db in
                try db.execute(sql: "INSERT OR IGNORE INTO lfs_location (path) VALUES (?)", arguments: [own])
            }
        }
        return places
    }

    /// An absent folder is made anew only when no bytes can be in it.
    private func requireFolders(in location: String, _ runner: BackgroundRunner) async throws {
        guard let absent = closed.first(where: { $0.isAbsent && Self.isFolder($0.path, in: location) }) else { return }
        guard try await lacksFiles(runner) else { return }
        throw LFSError(
            .folderAbsent,
            "Files wait for their upload that may be in \(absent.path), and it is not there. Is the disk of \(location) mounted? If it is gone for good, open the database without this persistence location, and verify with repairs and VerifyOptions.acceptsEmpty."
        )
    }

    private static func isFolder(_ path: String, in location: String) -> Bool { path.hasPrefix(location + "/") }

    /// Whether the bytes of a file that was made here and not uploaded are nowhere, and nobody has said that they are lost.
    private func lacksFiles(_ runner: BackgroundRunner) async throws -> Bool {
        var last = ""
        while true {
            let after = last
            let ids = try await runner.read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT f.id FROM lfs_file f JOIN lfs_state s WHERE f.id > ? AND f.status = 'local'
                        AND substr(f.key, 1, 33) = s.namespace || '/' AND NOT EXISTS (
                            SELECT 1 FROM lfs_job WHERE fileID = f.id AND state = 'failed' AND errorCode = ?)
                        ORDER BY f.id LIMIT 1000
                        """,
                    arguments: [after, JobRow.lostCode])
            }
            guard let next = ids.last else { return false }
            last = next
            let isLacking = try await BlockingPool.shared.run { _ in
                try ids.contains { id in try FileID(id).map { try !self.contains($0) } ?? false }
            }
            if isLacking { return true }
        }
    }
}
