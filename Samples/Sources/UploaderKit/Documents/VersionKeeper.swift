import Foundation
import GRDB
import LFS

/// Removes old versions whose time is over, and what is not kept once its new version is on the storage.
struct VersionKeeper: Sendable {
    let database: any DatabaseWriter
    var now: @Sendable () -> Date = { Date() }

    /// Less than that is not written down: a look costs the writer nothing.
    private static let precision: TimeInterval = 3_600

    /// Remembers how long versions are kept, those that are there as well.
    func choose(_ choice: KeepVersions) async throws {
        try await database.write { db in try VersionMemory.choose(choice, db) }
    }

    /// Whether the database has a choice that nobody can use.
    func hasUnusableChoice() async throws -> Bool {
        try await database.read { db in try VersionMemory.fetch(db).isUnusable }
    }

    /// Removes what has to go, batch by batch.
    ///
    /// - Parameter isThorough: whether also those of documents are looked for that other devices have removed.
    func removeSettled(isThorough: Bool) async throws -> VersionTable.Removed {
        var removed = try await remove(.replaced)
        if isThorough { removed = removed + (try await remove(.orphaned)) }
        switch try await database.read({ db in try VersionMemory.fetch(db).holding }) {
        case .none: return removed + (try await remove(.all))
        case .forever:
            _ = try await look()
            return removed
        case .time(let span):
            let time = try await look()
            guard let seconds = KeepVersions.time(span).seconds else { return removed }
            return removed + (try await remove(.expired(time.addingTimeInterval(-seconds))))
        }
    }

    private func remove(_ settled: VersionTable.Settled) async throws -> VersionTable.Removed {
        var removed = VersionTable.Removed()
        // Nearly always there is none.
        while try await database.read({ db in try VersionTable.has(settled, db) }) {
            guard let batch = try await database.write({ db in try VersionTable.remove(settled, db) }) else { break }
            removed = removed + batch
            try Task.checkCancellation()
        }
        return removed
    }

    /// Looks at the clock, and notes what it says.
    ///
    /// - Returns: the time by which versions may go.
    private func look() async throws -> Date {
        let now = now()
        let (clock, isWanted) = try await database.read { db in
            let clock = try VersionMemory.fetch(db).clock
            var next = clock
            _ = next.look(at: now)
            let isSteady = next.leapt == nil
            let hasFuture = try isSteady && VersionTable.hasFuture(next.believed ?? now, db)
            return (next, hasFuture || Self.differs(clock, next))
        }
        guard isWanted else {
            var clock = clock
            return clock.look(at: now)
        }
        var mayHaveMore = true
        var time = now
        while mayHaveMore {
            (time, mayHaveMore) = try await database.write { db in
                var clock = try VersionMemory.fetch(db).clock
                let time = clock.look(at: now)
                try VersionMemory.save(clock, db)
                guard clock.leapt == nil, let believed = clock.believed else { return (time, false) }
                return (time, try VersionTable.putRight(at: believed, db))
            }
        }
        return time
    }

    private static func differs(_ old: VersionClock, _ new: VersionClock) -> Bool {
        guard old.leapt == new.leapt, let before = old.believed, let after = new.believed else { return true }
        return abs(after.timeIntervalSince(before)) >= precision
    }

    // MARK: Local copies

    /// Frees the local copies of versions: they are kept on the storage.
    ///
    /// - Parameter onKept: takes why one stays for now.
    func freeCopies(_ lfs: LFSManager, onKept: (FileID, any Error) -> Void) async throws {
        var last: Int64 = 0
        while true {
            let copies = try await database.read { [last] db in try VersionTable.copies(after: last, db) }
            guard let end = copies.last else { return }
            last = end.id
            var gone: [Int64] = []
            for copy in copies {
                do {
                    if let file = copy.file { try await lfs.evict(file) }
                    gone.append(copy.id)
                } catch let error as LFSError where error.code == .pinned {
                    gone.append(copy.id)
                } catch let error as LFSError where error.code == .notUploaded || error.code == .unknownFile {
                    // The next run tries again, if it is there then.
                } catch let error as LFSError {
                    if let file = copy.file { onKept(file, error) }
                }
            }
            let done = gone
            if !done.isEmpty { try await database.write { db in try VersionTable.noteCopies(gone: done, db) } }
        }
    }
}
