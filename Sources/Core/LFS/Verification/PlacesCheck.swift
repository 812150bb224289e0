import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// A check that the places of the rows are the right ones. An empty mount point or another bucket must not look like
/// the loss of all files.
struct PlacesCheck: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let namespace: Namespace

    /// Returns the prefixes of the rows' keys up to the first slash, always including this database's own namespace.
    func prefixes() async throws -> [String] {
        try await runner.read(FileTable.prefixes).union([namespace.prefix]).sorted()
    }

    /// - Throws: ``LFSError/Code/wrongStorage`` when rows have the status `remote` and the storage has none of their
    ///   objects.
    func requireUsedStorage(_ storage: any RemoteStorage) async throws {
        guard try await runner.read(FileTable.hasRemote) else { return }
        if try await storage.capabilities.listsObjects ? hasListedObject(storage) : hasAskedObject(storage) { return }
        throw LFSError(
            .wrongStorage,
            message: """
                None of the uploaded files was found on the storage. Nothing was changed. Check the bucket, the prefix \
                and the endpoint, or whether the share is mounted. If the storage really is empty, confirm that with \
                VerifyOptions.acceptsEmpty.
                """
        )
    }

    private func hasListedObject(_ storage: any RemoteStorage) async throws -> Bool {
        for prefix in try await prefixes() {
            var continuation: String?
            var watch = ListingWatch()
            repeat {
                let page = try await storage.list(ListRequest(prefix: prefix, continuation: continuation))
                if try await hasRow(for: page.objects) { return true }
                try watch.check(page.objects.lazy.map(\.key.rawValue), next: page.next)
                continuation = page.next
            } while continuation != nil
        }
        return false
    }

    /// Does the same as ``hasListedObject(_:)`` for a storage that cannot list objects. It asks for one file after the
    /// other.
    private func hasAskedObject(_ storage: any RemoteStorage) async throws -> Bool {
        var (isAnyAsked, isAnyThere) = (false, false)
        try await runner.forEachPage { db, last in
            try FileTable.settledRemote(after: last, limit: 100, db)
        } _: { rows in
            for key in rows.compactMap(\.readable).compactMap({ ObjectKey.usable($0.key) }) where !isAnyThere {
                isAnyAsked = true
                isAnyThere = try await exists(key, storage: storage)
            }
            return !isAnyThere
        }
        return isAnyThere || !isAnyAsked
    }

    private func exists(_ key: ObjectKey, storage: any RemoteStorage) async throws -> Bool {
        do {
            _ = try await storage.head(key)
            return true
        } catch let error as StorageError where error.isMissing {
            return false
        }
    }

    /// - Throws: ``LFSError/Code/wrongStore`` when the folder was made for a later opening than the first, and has none
    ///   of the files that must be in it. The folder that was used before is then in another place.
    func requireUsedStore() async throws {
        let places = places
        let isYounger = try await BlockingPool.shared.run { _ in (try places.store.madeFor() ?? 1) > 1 }
        guard isYounger else { return }
        var (isAnyWanted, isAnyHere) = (false, false)
        try await runner.forEachPage { db, last in
            try FileTable.ownLocal(after: last, withLosses: true, limit: 1_000, db)
        } _: { ids in
            isAnyWanted = true
            isAnyHere = try await BlockingPool.shared.run { _ in try ids.contains { try places.contains($0) } }
            return !isAnyHere
        }
        if isAnyHere || !isAnyWanted { return }
        throw LFSError(
            .wrongStore,
            message: """
                \(places.store.path) was created after the database had been used with another folder, and has none of \
                the files that it should have. Nothing was changed. Is the disk with the earlier folder mounted? If \
                that folder is lost for good, confirm that with VerifyOptions.acceptsEmpty.
                """
        )
    }

    private func hasRow(for objects: [RemoteObject]) async throws -> Bool {
        let keys = objects.compactMap { object in
            FileID(text: String(object.key.rawValue.suffix(36))).map { ($0, object.key.rawValue) }
        }
        if keys.isEmpty { return false }
        let byID = Dictionary(keys) { first, _ in first }
        return try await runner.read { db in try FileTable.hasRemote(byID, db) }
    }
}
