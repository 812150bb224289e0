import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Whether the places that rows speak of are the right ones: a mount that is empty and a bucket that is another one
/// must not look like the loss of everything.
struct PlacesCheck: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let namespace: Namespace

    /// What the keys of the rows begin with, up to the first slash, with this database's own namespace in any case.
    func prefixes() async throws -> [String] {
        try await runner.read(FileTable.prefixes).union([namespace.prefix]).sorted()
    }

    /// - Throws: ``LFSError/Code/wrongStorage`` when rows say that files are on the storage and none of them is.
    func requireUsedStorage(_ storage: any RemoteStorage) async throws {
        guard try await runner.read(FileTable.hasRemote) else { return }
        if try await storage.capabilities.listsObjects ? hasListedObject(storage) : hasAskedObject(storage) { return }
        throw LFSError(
            .wrongStorage,
            """
            Not one of the files that are on the storage by their rows was found there. Nothing was changed. Check the \
            bucket, the prefix and the endpoint, or whether the share is mounted. If the storage really is empty, say \
            so (VerifyOptions.acceptsEmpty).
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

    /// As ``hasListedObject(_:)``, of a storage that lists none: asks for one file after the other.
    private func hasAskedObject(_ storage: any RemoteStorage) async throws -> Bool {
        var (isAnyAsked, isAnyThere) = (false, false)
        try await runner.forEachPage { db, last in
            try FileTable.settledRemote(after: last, limit: 100, db)
        } _: { rows in
            for key in rows.compactMap(\.readable).compactMap({ ObjectKey.usable($0.key) }) where !isAnyThere {
                isAnyAsked = true
                isAnyThere = try await exists(key, storage)
            }
            return !isAnyThere
        }
        return isAnyThere || !isAnyAsked
    }

    private func exists(_ key: ObjectKey, _ storage: any RemoteStorage) async throws -> Bool {
        do {
            _ = try await storage.head(key)
            return true
        } catch let error as StorageError where error.isMissing {
            return false
        }
    }

    /// - Throws: ``LFSError/Code/wrongStore`` when the folder was made for a later opening than the first and has
    ///   nothing of what has to be in it: the folder that was used before is elsewhere.
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
            """
            \(places.store.path) was made anew after the database was in use, and has none of the files that have to \
            be in it. Nothing was changed. Is the disk with the earlier folder mounted? If that folder is gone for \
            good, say so (VerifyOptions.acceptsEmpty).
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
