import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// Every place on this device where the bytes of a file can be: the local store, the persistence location in use, and
/// those of earlier starts and of other processes.
final class FilePlaces: InsertGuard.Holder {
    private struct Lists {
        /// Of this database and this store, the one to stage in first: files are taken out of them, and they are swept.
        var areas: [StagingArea] = []
        /// Of this database with another store: files are copied out of them.
        var earlier: [EarlierFolder] = []
        /// Where nothing can be looked for now.
        var closed: [ClosedPlace] = []
    }

    let store: LocalStore
    /// Where this manager stages new files.
    let staging: StagingArea
    let inUse = CopiesInUse()
    let ledger = CopyLedger()
    private let owner: StagingOwner
    private let lists = Mutex(Lists())

    /// - Parameter known: what was found at the paths that the database knows.
    init(store: LocalStore, staging: StagingArea, owner: StagingOwner, known: [StagingPlace] = []) {
        self.store = store
        self.staging = staging
        self.owner = owner
        lists.withLock { $0.areas = [staging] }
        take(known)
    }

    /// The same places with another one to stage in, which is opened, or made, in a persistence location.
    init(_ places: FilePlaces, stagingIn location: String, wasUsed: Bool) throws(FileError) {
        let staging: StagingArea
        if let known = places.staging(in: location) {
            staging = known
        } else {
            staging = try StagingArea(in: location, wasUsed: wasUsed, places.owner)
        }
        (store, owner, self.staging) = (places.store, places.owner, staging)
        let known = places.lists.withLock { $0 }
        lists.withLock { lists in
            // One folder is held once, or its holder would be in its own way.
            lists.areas = [staging] + known.areas.filter { !$0.isSame(as: staging) }
            lists.earlier = known.earlier
            lists.closed = known.closed.filter { $0.path != staging.path }
        }
    }

    /// The area of this database in a persistence location, if it is known.
    func staging(in location: String) -> StagingArea? { areas.first { $0.isIn(location) } }

    /// The staging areas that are this database's own and are there, this manager's first.
    var areas: [StagingArea] { lists.withLock { $0.areas } }
    /// The folders of this database with another store, which are read and left alone.
    var earlier: [EarlierFolder] { lists.withLock { $0.earlier } }

    /// Where bytes may be that cannot be looked for now: unmounted disks, and folders that do not say whose they are.
    var closed: [ClosedPlace] { lists.withLock { $0.closed } }

    /// Adds the areas of other starts, by the paths that the database knows them by, and drops those whose disk has
    /// gone. What cannot be used is looked at again the next time. Blocks the thread.
    ///
    /// - Returns: whether one was dropped.
    @discardableResult
    func add(_ paths: [String]) -> Bool {
        let lost = areas.filter(isLost)
        lists.withLock { lists in lists.areas.removeAll { area in lost.contains { $0 === area } } }
        let known = Set((areas.map(\.path)) + earlier.map(\.path))
        take(paths.filter { !known.contains($0) }.map { StagingPlace.look(at: $0, owner) })
        return !lost.isEmpty
    }

    private func isLost(_ area: StagingArea) -> Bool {
        // One that nobody can look at now stays: who reads from it meets the same error.
        do { return try !area.isThere() } catch { return false }
    }

    private func take(_ found: [StagingPlace]) {
        lists.withLock { lists in
            lists.closed = []
            for place in found {
                switch place {
                case .own(let area) where !lists.areas.contains { $0.isSame(as: area) }:
                    lists.areas.append(area)
                case .earlier(let folder) where !lists.earlier.contains { $0.path == folder.path }:
                    lists.earlier.append(folder)
                case .closed(let place): lists.closed.append(place)
                case .own, .earlier: break
                }
            }
        }
    }

    /// Adds the folder at the path of the store, when that is the one from before this one was made. Blocks the thread.
    func addStoreInPlace() throws {
        guard let folder = try store.folderInPlace() else { return }
        lists.withLock { lists in
            lists.earlier.removeAll { $0.path == folder.path }
            lists.earlier.append(folder)
        }
    }

    // MARK: Files

    func contains(_ id: FileID) throws(SystemError) -> Bool {
        // In the order in which a file moves, so that one that moves between two looks is seen.
        do throws(SystemError) {
            let inAreas = try first(of: areas) { area throws(SystemError) in try area.contains(id) ? true : nil }
            if inAreas == true { return true }
        } catch {
            if try store.contains(id) { return true }
            throw error
        }
        if try store.contains(id) { return true }
        return try first(of: earlier) { folder throws(SystemError) in try folder.open(id) } != nil
    }

    /// What one of the places has. One that cannot be looked into does not hide what the next one has.
    private func first<Place, Found>(
        of places: [Place], _ look: (Place) throws(SystemError) -> Found?
    ) throws(SystemError) -> Found? {
        var failure: SystemError?
        for place in places {
            do throws(SystemError) {
                if let found = try look(place) { return found }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return nil
    }

    /// Brings a file into the store if it is not there yet. Returns false when its bytes are nowhere.
    ///
    /// Blocks the thread.
    func promote(_ id: FileID) throws(SystemError) -> Bool { try promote(id, from: areas) }

    private func promote(_ id: FileID, from areas: [StagingArea]) throws(SystemError) -> Bool {
        if try promoteStaged(id, from: areas) { return true }
        let isCopied = try first(of: earlier) { folder throws(SystemError) in
            try store.promote(id, from: folder) == .promoted ? true : nil
        }
        if isCopied == true { try noteAdded(id) }
        return isCopied == true
    }

    /// Brings a file into the store if that takes no more than a rename, or if nobody else would. Where there is no
    /// room it stays where it is: the promoter tries again, and tells of it. Blocks the thread.
    func promoteAtOnce(_ id: FileID) throws(SystemError) {
        do throws(SystemError) {
            _ = try promote(id, from: areasOnDisk)
        } catch {
            if !error.isNoSpace { throw error }
        }
    }

    /// Brings a file into the store if that takes no more than a rename. Blocks the thread.
    func promoteByRename(_ id: FileID) throws(SystemError) { _ = try promoteStaged(id, from: areasOnDisk) }

    private var areasOnDisk: [StagingArea] { areas.filter { $0.isOnDisk(of: store) } }

    /// Returns false when none of the areas has it, and neither has the store.
    private func promoteStaged(_ id: FileID, from areas: [StagingArea]) throws(SystemError) -> Bool {
        let inAreas = try first(of: areas) { area throws(SystemError) -> LocalStore.Promotion? in
            let promotion = try store.promote(id, from: area)
            return promotion == .missing ? nil : promotion
        }
        if inAreas == .promoted { try noteAdded(id) }
        return inAreas != nil
    }

    /// Puts staged bytes, which are the recorded ones, in the place of a file. Blocks the thread.
    func replace(_ id: FileID, with staged: FileID) throws {
        try store.replace(id, with: staged, from: staging)
        // Other bytes that wait under its name are of no use any more.
        for area in areas { try area.clear(id) }
        try noteAdded(id)
    }

    /// Gives the right bytes of a file in quarantine their place in the store again. Blocks the thread.
    ///
    /// - Returns: whether they have it.
    func putBack(_ id: FileID, named name: String) throws -> Bool {
        guard try store.putBack(id, named: name, replaces: true) else { return false }
        try noteAdded(id)
        return true
    }

    /// Opens the bytes of a file wherever they are; nil when they are nowhere.
    func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        if let file = try store.open(id) { return file }
        if let file = try first(of: areas, { area throws(SystemError) in try area.open(id) }) { return file }
        if let file = try first(of: earlier, { folder throws(SystemError) in try folder.open(id) }) { return file }
        // It may have moved from a staging area into the store between the two looks.
        return try store.open(id)
    }

    /// Removes the bytes of a file everywhere on this device but in folders of another store of the database. What is
    /// in a folder that stands in its place is kept.
    func remove(_ id: FileID) throws {
        for area in areas { try area.clear(id) }
        try store.removeCopies(id)
        try store.clear(id)
        ledger.remove(id)
    }

    /// Takes a file from its names, as ``LocalStore/setAside(_:)`` does.
    func setAside(_ id: FileID) throws(SystemError) -> String? {
        for area in areas { try area.clear(id) }
        defer { ledger.remove(id) }
        return try store.setAside(id)
    }

    private func noteAdded(_ id: FileID) throws(SystemError) {
        guard ledger.isKept, let status = try store.status(of: id) else { return }
        ledger.add(id, byteCount: status.byteCount)
    }

    // MARK: Holding

    /// Takes for a sweep what nobody else uses. Only for the holder of the store's exclusive open lock. Blocks the
    /// thread.
    func beginSweep() throws(SystemError) -> [StagingArea] {
        var taken: [StagingArea] = []
        do throws(SystemError) {
            for area in areas where try area.beginSweep() { taken.append(area) }
        } catch {
            try endSweep(taken)
            throw error
        }
        return taken
    }

    func endSweep(_ taken: [StagingArea]) throws(SystemError) {
        for area in taken { try area.endSweep() }
    }

    /// Gives up what was held, so that another manager can open the database alone.
    func release() throws(SystemError) {
        for area in areas { try area.release() }
        // Also of one whose disk has gone.
        try staging.release()
        try store.openLock.unlock()
    }
}
