import LFSFiles
import LFSSystem
import Synchronization

/// Every place on this device where the bytes of a file can be: the local store, the persistence location in use, and
/// those of earlier starts and of other processes.
///
/// Owner of the list: the mutex, never held across a system call.
final class FilePlaces: Sendable {
    let store: LocalStore
    /// Where this manager stages new files.
    let staging: StagingArea
    let inUse = CopiesInUse()
    let ledger = CopyLedger()
    private let others = Mutex<[StagingArea]>([])

    init(store: LocalStore, staging: StagingArea) {
        self.store = store
        self.staging = staging
    }

    /// The staging areas, this manager's own first.
    var areas: [StagingArea] { [staging] + others.withLock { $0 } }

    /// Adds the areas of other starts. One that is not there (an unmounted disk) is passed over until the next look.
    func add(_ paths: [String]) {
        let known = Set(areas.map(\.path))
        for path in paths where !known.contains(path) {
            guard let area = StagingArea(existing: path) else { continue }
            others.withLock { areas in
                if !areas.contains(where: { $0.path == path }) { areas.append(area) }
            }
        }
    }

    func contains(_ id: FileID) throws(SystemError) -> Bool {
        if try store.contains(id) { return true }
        for area in areas where try area.contains(id) { return true }
        return false
    }

    /// Moves a file into the store if it is not there yet. Returns false when its bytes are nowhere.
    ///
    /// Blocks the thread.
    func promote(_ id: FileID) throws(SystemError) -> Bool {
        for area in areas {
            switch try store.promote(id, from: area) {
            case .promoted:
                try noteAdded(id)
                return true
            case .alreadyThere: return true
            case .missing: continue
            }
        }
        return false
    }

    /// Opens the bytes of a file wherever they are; nil when they are nowhere.
    func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        if let file = try store.open(id) { return file }
        for area in areas {
            if let file = try area.open(id) { return file }
        }
        // It may have moved from a staging area into the store between the two looks.
        return try store.open(id)
    }

    /// Removes the bytes of a file everywhere on this device. What is in a folder that stands in its place is kept.
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
}
