import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem

/// Whether the places that rows speak of are the right ones: a mount that is empty and a bucket that is another one must
/// not look like the loss of everything.
struct Ground: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let namespace: String

    /// What the keys of the rows begin with, up to the first slash, with this database's own namespace in any case.
    func prefixes() async throws -> [String] {
        let found = try await runner.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT DISTINCT substr(key, 1, instr(key, '/')) FROM lfs_file
                    WHERE typeof(key) = 'text' AND instr(key, '/') > 0
                    """)
        }
        return Set(found).union([namespace + "/"]).sorted()
    }

    /// - Throws: ``LFSError/Code/wrongStorage`` when rows say that files are on the storage and none of them is.
    func requireUsedStorage(_ storage: any RemoteStorage) async throws {
        let hasRemote = try await runner.read { db in try !FileData.all().offloaded().isEmpty(db) }
        guard hasRemote else { return }
        for prefix in try await prefixes() {
            var continuation: String?
            var watch = ListingWatch()
            repeat {
                let page = try await storage.list(ListRequest(prefix: prefix, continuation: continuation))
                if try await hasRow(for: page.objects) { return }
                try watch.check(page.objects.lazy.map(\.key.rawValue), next: page.next)
                continuation = page.next
            } while continuation != nil
        }
        throw LFSError(
            .wrongStorage,
            "Not one of the files that are on the storage by their rows was found there. Nothing was changed. Check the bucket, the prefix and the endpoint, or whether the share is mounted. If the storage really is empty, say so (VerifyOptions.acceptsEmpty)."
        )
    }

    /// - Throws: ``LFSError/Code/wrongStore`` when the folder was made for a later opening than the first and has nothing
    ///   of what has to be in it: the folder that was used before is elsewhere.
    func requireUsedStore() async throws {
        let places = places
        let isYounger = try await BlockingPool.shared.run { _ in (try places.store.madeFor() ?? 1) > 1 }
        guard isYounger else { return }
        var last = ""
        while true {
            let after = last
            let ids = try await runner.read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT f.id FROM lfs_file f JOIN lfs_state s
                        WHERE f.id > ? AND typeof(f.id) = 'text' AND f.status = 'local'
                        AND substr(f.key, 1, length(s.namespace) + 1) = s.namespace || '/' ORDER BY f.id LIMIT 1000
                        """,
                    arguments: [after])
            }
            guard let next = ids.last else { break }
            last = next
            let isAnyHere = try await BlockingPool.shared.run { _ in
                try ids.contains { id in try FileID(id).map { try places.contains($0) } ?? false }
            }
            if isAnyHere { return }
        }
        guard !last.isEmpty else { return }
        throw LFSError(
            .wrongStore,
            "\(places.store.path) was made anew after the database was in use, and has none of the files that have to be in it. Nothing was changed. Is the disk with the earlier folder mounted? If that folder is gone for good, say so (VerifyOptions.acceptsEmpty)."
        )
    }

    private func hasRow(for objects: [RemoteObject]) async throws -> Bool {
        let keys = Dictionary(objects.map { (String($0.key.rawValue.suffix(36)), $0.key.rawValue) }) { first, _ in first
        }
        if keys.isEmpty { return false }
        let ids = Array(keys.keys)
        return try await runner.read { db in
            let marks = databaseQuestionMarks(count: ids.count)
            let rows = try Row.fetchCursor(
                db, sql: "SELECT id, key FROM lfs_file WHERE status = 'remote' AND id IN (\(marks))",
                arguments: StatementArguments(ids))
            while let row = try rows.next() {
                guard let id = String.fromDatabaseValue(row[0]), let key = String.fromDatabaseValue(row[1])
                else { continue }
                if keys[id] == key { return true }
            }
            return false
        }
    }
}
