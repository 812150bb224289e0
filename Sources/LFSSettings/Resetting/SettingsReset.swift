import GRDB
import LFSDatabase
import LFSSystem

/// Removes all values: those in the database within the host's transaction, and then the others.
///
/// Who reads or writes a value beside the database ends a removal there first, or waits for who does.
struct SettingsReset: Sendable {
    let runner: BackgroundRunner
    let stores: StoreSet
    let lock: DatabaseLock
    private let turns = Permits(1)

    init(runner: BackgroundRunner, stores: StoreSet, databasePath: String) {
        (self.runner, self.stores) = (runner, stores)
        lock = DatabaseLock(databasePath: databasePath, .removal)
    }

    /// Values, data keys, and the note that files and secrets follow. What says which catalogs and migrations are done
    /// stays, so that nothing of an earlier version comes back.
    static func begin(_ db: Database) throws {
        try SettingTable.removeAll(db)
        try SettingKeyTable.removeAll(db)
        try SettingsStateTable.beginReset(db)
    }

    /// Removes what is left in a place, if a removal is noted. It may be repeated at any point.
    func finish(_ place: ResetPlace) async throws {
        let state = try await runner.read(SettingsStateTable.read)
        if place == .memory { return stores.memory.follow(state.resetCount) }
        guard isPending(place, state) else { return }
        try await turns.withPermit {
            try await lock.run { while try await !finishOnce(place) {} }
        }
    }

    /// As the one for a place, of all of them: one that cannot be cleared does not keep the others.
    func finish() async throws { try await finish(try await runner.read(SettingsStateTable.read)) }

    /// As the one above, of what was pending when the state was read. It is looked at anew before anything goes.
    func finish(_ state: SettingsStateTable.State) async throws {
        stores.memory.follow(state.resetCount)
        var failure: (any Error)?
        for place in ResetPlace.allCases where isPending(place, state) {
            do { try await finish(place) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Returns false when another removal was begun meanwhile.
    private func finishOnce(_ place: ResetPlace) async throws -> Bool {
        // Another one may have ended it by now, and values may have been set since.
        let state = try await runner.read(SettingsStateTable.read)
        guard isPending(place, state) else { return true }
        // What goes now must not come back with a commit that a power cut takes back.
        try await runner.writeDurably { _ in }
        switch place {
        case .files: try await clearFiles()
        case .keychain: try await stores.keychain?.removeAll()
        case .memory: break
        }
        return try await runner.writeDurably { db in try SettingsStateTable.endReset(state.resetCount, of: place, db) }
    }

    private func clearFiles() async throws {
        var failure: (any Error)?
        for store in try await stores.usedFileStores() {
            do { try await store.removeAll() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    private func isPending(_ place: ResetPlace, _ state: SettingsStateTable.State) -> Bool {
        switch place {
        case .files: state.isResettingFiles
        case .keychain: state.isResettingKeychain && stores.keychain != nil
        case .memory: false
        }
    }
}
