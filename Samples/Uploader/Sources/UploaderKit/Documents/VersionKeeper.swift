import Foundation
import GRDB
import LFS

/// The removal of expired versions. It also removes replaced files that are not kept, once their new version is on the
/// storage.
struct VersionKeeper: Sendable {
    let database: any DatabaseWriter
    var now: @Sendable () -> Date = { Date() }

    /// Stores the time for which versions are kept. It applies to existing versions as well.
    func choose(_ choice: KeepVersions) async throws {
        try await database.write { db in try VersionMemory.choose(choice, db) }
    }

    /// Returns true if the stored choice is unusable.
    func hasUnusableChoice() async throws -> Bool {
        try await database.read { db in try VersionMemory.fetch(db).isUnusable }
    }

    /// Removes everything that is due, in batches.
    ///
    /// - Parameter isThorough: true to include versions of documents that other devices have removed.
    func removeSettled(isThorough: Bool) async throws -> VersionTable.Removed {
        var removed = try await remove(.replaced)
        if isThorough { removed = removed + (try await remove(.orphaned)) }
        let holding = try await database.read { db in try VersionMemory.fetch(db).holding }
        let age = holding == .none ? 0 : try await look(keeping: holding.seconds)
        guard let settled = Self.settled(holding, at: age) else { return removed }
        return removed + (try await remove(settled))
    }

    /// Returns the versions to remove at an age, or nil for no versions.
    private static func settled(_ holding: KeepVersions, at age: TimeInterval) -> VersionTable.Settled? {
        holding == .none ? .all : holding.seconds.map { .expired(age - $0) }
    }

    /// Returns the versions that ``removeSettled(isThorough:)`` would remove with a choice.
    ///
    /// - Parameter choice: the choice. Nil uses the stored one.
    static func preview(_ choice: KeepVersions?, now: Date, _ db: Database) throws -> VersionTable.Removed {
        guard try VersionTable.isThere(db), try StorageMemory.doubt(db) == nil else { return .init() }
        let memory = try VersionMemory.fetch(db)
        let holding = choice ?? memory.holding
        var clock = memory.clock
        clock.look(at: now, keeping: holding.seconds)
        return try settled(holding, at: clock.age).map { try VersionTable.preview($0, db) } ?? .init()
    }

    private func remove(_ settled: VersionTable.Settled) async throws -> VersionTable.Removed {
        var removed = VersionTable.Removed()
        // Usually no rows match.
        while try await database.read({ db in try VersionTable.has(settled, db) }) {
            guard let batch = try await database.write({ db in try VersionTable.remove(settled, db) }) else { break }
            removed = removed + batch
            try Task.checkCancellation()
            // Other writers get a turn between the batches.
            await Task.yield()
        }
        return removed
    }

    /// Reads the clock, and stores the reading if necessary. Usually no write is needed.
    ///
    /// - Parameter kept: the time for which versions are kept. Nil for forever.
    /// - Returns: the current age.
    private func look(keeping kept: TimeInterval?) async throws -> TimeInterval {
        let now = now()
        let (age, isWanted) = try await database.read { db in
            let old = try VersionMemory.fetch(db).clock
            var clock = old
            clock.look(at: now, keeping: kept)
            let isWorthNoting = clock.isWorthNoting(after: old, keeping: kept)
            return (clock.age, try isWorthNoting || VersionTable.hasOddAge(over: clock.age, db))
        }
        guard isWanted else { return age }
        var noted = age
        var mayHaveMore = true
        while mayHaveMore {
            (noted, mayHaveMore) = try await database.write { db in
                var clock = try VersionMemory.fetch(db).clock
                clock.look(at: now, keeping: kept)
                try VersionMemory.save(clock, db)
                return (clock.age, try VersionTable.putRight(at: clock.age, db))
            }
            await Task.yield()
        }
        return noted
    }

    // MARK: Local copies

    /// Frees the local copies of versions, which are kept on the storage.
    ///
    /// - Parameter onKept: receives the reason why a copy stays for now.
    func freeCopies(_ lfs: LFSManager, onKept: (FileID, any Error) -> Void) async throws {
        var last: Int64 = 0
        while true {
            let copies = try await database.read { [last] db in try VersionTable.copies(after: last, db) }
            guard let end = copies.last else { return }
            last = end.id
            var gone: [Int64] = []
            for copy in copies {
                do {
                    if let file = copy.file { try await Self.freeCopy(of: file, lfs) }
                    gone.append(copy.id)
                } catch let error as LFSError where error.code == .notUploaded || error.code == .unknownFile {
                    // The next run tries again, if the file still exists.
                } catch let error as LFSError {
                    if let file = copy.file { onKept(file, error) }
                }
            }
            let done = gone
            if !done.isEmpty { try await database.write { db in try VersionTable.noteCopies(gone: done, db) } }
        }
    }

    private static func freeCopy(of file: FileID, _ lfs: LFSManager) async throws {
        do {
            try await lfs.evict(file)
        } catch let error as LFSError where error.code == .pinned {
            // The pin was meant for the current file. This one is an old version now, which a user could not unpin.
            try await lfs.unpin([file])
            try await lfs.evict(file)
        }
    }
}
