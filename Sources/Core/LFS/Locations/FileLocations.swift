import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// Every place on this device that can have the bytes of a file: the local store, the persistence location in use, and
/// the locations of earlier starts and other processes.
final class FileLocations: InsertGuard.Holder {
    private struct Lists {
        /// The areas of this database and this store, beginning with the one to stage in. Files are moved out of them,
        /// and they are swept.
        var areas: [StagingArea] = []
        /// The folders of this database with another store. Files are copied out of them.
        var earlier: [PreviousStoreFolder] = []
        /// The places that cannot be searched now.
        var closed: [UnavailableLocation] = []
        /// True if no lock is held, because of a suspension or a stop.
        var isReleased = false
    }

    let store: LocalStore
    /// The area in which this manager stages new files.
    let staging: StagingArea
    let inUse = ActiveReads()
    let ledger = LocalCopyIndex()
    /// The marks for the backup of the device. Nil where the system has no such backup.
    let marks: BackupMarks?
    private let owner: StagingOwner
    private let lists = Mutex(Lists())

    /// - Parameter known: the places at the paths that the database knows.
    init(
        store: LocalStore, staging: StagingArea, owner: StagingOwner, known: [StagingPlace] = [],
        marks: BackupMarks? = nil
    ) {
        self.store = store
        self.marks = marks
        self.staging = staging
        self.owner = owner
        lists.withLock { $0.areas = [staging] }
        take(known)
    }

    /// Creates a copy of `places` with another staging area, which is opened or created in a persistence location.
    init(_ places: FileLocations, stagingIn location: String, wasUsed: Bool) throws(FileError) {
        let staging: StagingArea
        if let known = places.staging(in: location) {
            staging = known
        } else {
            staging = try StagingArea(in: location, wasUsed: wasUsed, places.owner)
        }
        store = places.store
        owner = places.owner
        marks = places.marks
        self.staging = staging
        let known = places.lists.withLock { $0 }
        lists.withLock { lists in
            // Each folder is held only once. A second hold would conflict with the first.
            lists.areas = [staging] + known.areas.filter { !$0.isSame(as: staging) }
            lists.earlier = known.earlier
            lists.closed = known.closed.filter { $0.path != staging.path }
        }
    }

    /// Returns the area of this database in a persistence location, if it is known.
    func staging(in location: String) -> StagingArea? { areas.first { $0.isIn(location) } }

    /// The available staging areas of this database, beginning with this manager's.
    var areas: [StagingArea] { lists.withLock { $0.areas } }
    /// The folders of this database with another store. They are read and never changed.
    var earlier: [PreviousStoreFolder] { lists.withLock { $0.earlier } }

    /// The places that may have bytes and cannot be searched now: unmounted disks, and folders without a readable
    /// owner.
    var closed: [UnavailableLocation] { lists.withLock { $0.closed } }

    /// Adds the areas of other starts, by the paths that the database knows, and drops areas whose disk is gone. A
    /// place that cannot be used is tried again the next time. Blocks the thread.
    ///
    /// - Returns: whether an area was dropped.
    @discardableResult
    func add(_ paths: [String]) -> Bool {
        let lost = areas.filter(isLost)
        lists.withLock { lists in lists.areas.removeAll { area in lost.contains { $0 === area } } }
        let known = Set((areas.map(\.path)) + earlier.map(\.path))
        let isHeld = lists.withLock { !$0.isReleased }
        take(paths.filter { !known.contains($0) }.map { StagingPlace.look(at: $0, owner, isHeld: isHeld) })
        releaseIfNeeded()
        return !lost.isEmpty
    }

    /// Releases the areas that were added during a release.
    private func releaseIfNeeded() {
        guard lists.withLock({ $0.isReleased }) else { return }
        // An area whose lock cannot be released is released by the next call, and at the latest with the process.
        for area in areas { try? area.release() }
    }

    private func isLost(_ area: StagingArea) -> Bool {
        // An area that cannot be checked now is kept. A reader of the area gets the same error.
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

    /// Adds the folder that is now at the path of the store, if it is the one that was in use before this store was
    /// created. Blocks the thread.
    func addStoreInPlace() throws {
        guard let folder = try store.folderInPlace() else { return }
        lists.withLock { lists in
            lists.earlier.removeAll { $0.path == folder.path }
            lists.earlier.append(folder)
        }
    }

    // MARK: Files

    func contains(_ id: FileID) throws(SystemError) -> Bool {
        // In the order in which a file moves, so that a file that moves between two checks is found.
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

    /// Returns the first result that one of the places gives. A place that cannot be read does not hide the results of
    /// the next ones.
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

    /// Moves a file into the store if it is not in it yet. Returns false when its bytes are in no place.
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

    /// Moves a file into the store if a rename is enough, or copies it from a folder of an earlier store.
    ///
    /// When the disk is full, the file stays in its place. The promoter retries and reports it. Blocks the thread.
    func promoteAtOnce(_ id: FileID) throws(SystemError) {
        do throws(SystemError) {
            _ = try promote(id, from: areasOnDisk)
        } catch {
            if !error.isNoSpace { throw error }
        }
    }

    /// Moves a file into the store if a rename is enough. Blocks the thread.
    func promoteByRename(_ id: FileID) throws(SystemError) { _ = try promoteStaged(id, from: areasOnDisk) }

    private var areasOnDisk: [StagingArea] { areas.filter { $0.isOnDisk(of: store) } }

    /// Returns false when neither the areas nor the store have the file.
    private func promoteStaged(_ id: FileID, from areas: [StagingArea]) throws(SystemError) -> Bool {
        let inAreas = try first(of: areas) { area throws(SystemError) -> LocalStore.Promotion? in
            let promotion = try store.promote(id, from: area)
            return promotion == .missing ? nil : promotion
        }
        if inAreas == .promoted { try noteAdded(id) }
        return inAreas != nil
    }

    /// Replaces the bytes of a file with staged bytes that match the row. Blocks the thread.
    func replace(_ id: FileID, with staged: FileID) throws {
        try store.replace(id, with: staged, from: staging)
        // Other staged bytes under this id are no longer needed.
        for area in areas { try area.clear(id) }
        try noteAdded(id)
    }

    /// Moves the correct bytes of a file from quarantine back into the store. Blocks the thread.
    ///
    /// - Returns: whether the store has the bytes now.
    func putBack(_ id: FileID, named name: String) throws -> Bool {
        guard try store.putBack(id, named: name, replaces: true) else { return false }
        try noteAdded(id)
        return true
    }

    /// Opens the bytes of a file in whichever place has them. Nil when no place does.
    func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        if let file = try store.open(id) { return file }
        if let file = try first(of: areas, { area throws(SystemError) in try area.open(id) }) { return file }
        if let file = try first(of: earlier, { folder throws(SystemError) in try folder.open(id) }) { return file }
        // The file may have moved from a staging area into the store between the two checks.
        return try store.open(id)
    }

    /// Removes the bytes of a file from every place on this device except the folders of another store of the database.
    /// A directory that has the name of the file is kept with its contents.
    func remove(_ id: FileID) throws {
        for area in areas { try area.clear(id) }
        try store.removeCopies(id)
        try store.clear(id)
        ledger.remove(id)
    }

    /// Renames a file out of the way, as ``LocalStore/setAside(_:)`` does, and removes staged bytes of its id.
    func setAside(_ id: FileID) throws(SystemError) -> String? {
        for area in areas { try area.clear(id) }
        defer { ledger.remove(id) }
        return try store.setAside(id)
    }

    private func noteAdded(_ id: FileID) throws(SystemError) {
        marks?.note(id)
        guard ledger.isKept, let status = try store.status(of: id) else { return }
        ledger.add(id, byteCount: status.byteCount)
    }

    // MARK: Holding

    /// Locks for a sweep the areas that no other process uses. Only for the holder of the store's exclusive open lock.
    /// Blocks the thread.
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

    /// Takes the locks again after ``release()``. The open lock is already held. Blocks the thread.
    func hold() throws(SystemError) {
        lists.withLock { $0.isReleased = false }
        for area in areas where try area.isThere() { try area.hold() }
    }

    /// Releases all locks, so that another manager can open the database alone.
    func release() throws(SystemError) {
        lists.withLock { $0.isReleased = true }
        for area in areas { try area.release() }
        // Includes an area whose disk is gone.
        try staging.release()
        try store.openLock.unlock()
    }
}
