import LFSDatabase

/// The removal of all values: first those in the database, within the app's transaction, and then the others.
///
/// Code that reads or writes a value outside the database first finishes a pending removal there, or waits for it.
struct SettingsReset: Sendable {
    let runner: BackgroundRunner
    let stores: StoreSet
    let lock: DatabaseLock

    /// Removes the remaining values of a place if a removal is pending. It may be repeated at any point.
    func finish(_ place: ResetPlace) async throws {
        let state = try await runner.read(SettingsStateTable.read)
        if place == .memory { return stores.memory.follow(state.resetCount) }
        guard isPending(place, state: state) else { return }
        try await lock.run { while try await !finishOnce(place) {} }
    }

    /// Finishes all places that are pending. A place that cannot be cleared does not stop the others.
    func finish() async throws {
        let state = try await runner.read(SettingsStateTable.read)
        stores.memory.follow(state.resetCount)
        var failure: (any Error)?
        for place in ResetPlace.allCases where isPending(place, state: state) {
            do { try await finish(place) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Returns false when another removal was started in the meantime.
    private func finishOnce(_ place: ResetPlace) async throws -> Bool {
        // Another process may have finished the removal, and values may have been set since.
        let state = try await runner.read(SettingsStateTable.read)
        guard isPending(place, state: state) else { return true }
        // A power failure must not undo the commit of the removal after the values are deleted.
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

    private func isPending(_ place: ResetPlace, state: SettingsStateTable.State) -> Bool {
        switch place {
        case .files: state.isResettingFiles
        case .keychain: state.isResettingKeychain && stores.keychain != nil
        case .memory: false
        }
    }
}
