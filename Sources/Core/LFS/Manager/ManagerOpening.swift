import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import Logging

/// The preconditions of a manager: the schema, the folders and the open lock.
struct ManagerOpening: Sendable {
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FileLocations
    private let options: LFSOptions
    private let ownsStore: Bool
    /// True if this opening is counted. On a full disk it is not, and then it sweeps nothing.
    private var isCounted = false

    init(_ database: any DatabaseWriter, options: LFSOptions) async throws {
        self.options = options
        runner = BackgroundRunner(database)
        let identity = try await runner.read { db in
            let identity = try DatabaseIdentity(db)
            _ = try FileOwner.all(db)
            return identity
        }
        namespace = identity.namespace
        let storePath = try identity.storePath(options.localStore)
        let movesAside = options.foreignStore == .moveAside
        let (store, aside) = try await BlockingPool.shared.run { _ in
            let id = identity.databaseID.text
            let aside = movesAside ? try ForeignStore.moveAside(storePath, databaseID: id) : nil
            let store = try LocalStore(
                at: storePath, databaseID: id, generation: identity.generation, protector: options.protector)
            return (store, aside)
        }
        if let aside {
            options.logger.notice(
                "the folder of another database was moved aside", metadata: ["lfs.folder": "\(aside)"])
        }
        ownsStore = try await OpenLock.take(store.openLock) { [runner] in
            try await runner.read(StateTable.isResetting)
        }
        let marks = options.backupCall.map { BackupMarks(BackupExclusion(call: $0)) }
        places = try await FileLocations.open(
            store, location: options.persistenceLocation, runner: runner, marks: marks)
        let count = GenerationCount(runner: runner, store: store, wallClock: options.wallClock)
        isCounted = try await isCounted(count)
        for folder in places.earlier {
            options.logger.notice(
                "a folder of this database with another local store is not changed",
                metadata: ["lfs.folder": "\(folder.path)"])
        }
        for place in try await MissingFileSearch(runner: runner, places: places).absent() {
            options.logger.warning(
                "a folder that may have files is missing",
                metadata: ["lfs.folder": "\(place.path)", "reason": "\(place.reason)"])
        }
    }

    /// Counts the opening. A full disk is not an error, because reading and evicting need an open manager, and evicting
    /// frees space.
    private func isCounted(_ count: GenerationCount) async throws -> Bool {
        do {
            try await count.advance(isAlone: ownsStore)
            return true
        } catch let error where DiskSpace.isCause(of: error) {
            options.logger.warning("opened on a full disk", metadata: ["error.message": "\(error)"])
            return false
        }
    }

    /// Promotes committed files, sweeps, and then allows other processes to open the store.
    ///
    /// - Returns: whether committed files are left that wait for space in the store. Their bytes are read from their
    ///   present place.
    func repair() async throws -> Bool {
        let recovery = Recovery(
            runner: runner, places: places, gracePeriod: options.temporaryFileGracePeriod,
            downloadGracePeriod: options.unfinishedDownloadGracePeriod, wallClock: options.wallClock)
        if ownsStore { try await Reset(runner: runner, places: places, wallClock: options.wallClock).finish() }
        let isComplete = try await repair(recovery)
        let store = places.store
        if ownsStore { try await BlockingPool.shared.run { _ in try store.openLock.lock(.shared) } }
        try await BlockingPool.shared.run { _ in try store.makeSpareRoom() }
        return !isComplete
    }

    private func repair(_ recovery: Recovery) async throws -> Bool {
        do {
            try await recovery.repair(sweeps: ownsStore && isCounted)
            return true
        } catch let error where DiskSpace.isCause(of: error) || error is SystemError {
            // Each of their uploads records its own error, and the promoter retries.
            options.logger.warning("committed files stay in staging for now", metadata: ["error.message": "\(error)"])
            return false
        }
    }
}
