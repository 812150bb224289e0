import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

extension FilePlaces {
    /// Opens every place that the database knows, and the one that the options name.
    ///
    /// - Parameter location: the persistence location; nil for the default one in the store.
    /// - Throws: ``LFSError/Code/folderAbsent`` when the location is not there, or the folder in it in which files
    ///   wait; other places that are away are passed over until the next look.
    static func open(_ store: LocalStore, location: URL?, _ runner: BackgroundRunner) async throws -> FilePlaces {
        let paths = try await runner.read(LocationTable.paths)
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
            try await runner.writeDurably { db in try LocationTable.add(own, db) }
        }
        return places
    }

    /// An absent folder is made anew only when no bytes can be in it.
    private func requireFolders(in location: String, _ runner: BackgroundRunner) async throws {
        guard let absent = closed.first(where: { $0.isAbsent && Self.isFolder($0.path, in: location) }) else { return }
        guard try await lacksFiles(runner) else { return }
        throw LFSError(
            .folderAbsent,
            """
            Files wait for their upload that may be in \(absent.path), and it is not there. Is the disk of \(location) \
            mounted? If it is gone for good, open the database without this persistence location, and verify with \
            repairs and VerifyOptions.acceptsEmpty.
            """
        )
    }

    private static func isFolder(_ path: String, in location: String) -> Bool { path.hasPrefix(location + "/") }

    /// Whether the bytes of a file that was made here and not uploaded are nowhere, and nobody has said that they are
    /// lost.
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
