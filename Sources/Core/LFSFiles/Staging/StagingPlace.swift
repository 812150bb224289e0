import LFSSystem

/// The kind of folder at a path that a database row names as a staging area.
///
/// Another program may have written the row, so the row alone permits no access to the folder. The marker in the folder
/// must name its owner. Below the persistence location no link is followed. Links in the path to the location are the
/// app's responsibility.
package enum StagingPlace: Sendable {
    /// An area of this database and this store. Files are moved out of it, and it is swept.
    case own(StagingArea)
    /// An area of this database with another store. Either the database was moved, or it is a copy of the one that
    /// created the folder. Files are copied from it, and nothing in it is changed.
    case earlier(PreviousStoreFolder)
    /// Any other folder. Its contents are not read.
    case closed(UnavailableLocation)

    /// - Parameter isHeld: true if the lock of an area of this owner is held from now on.
    package static func look(at path: String, _ owner: StagingOwner, isHeld: Bool = true) -> StagingPlace {
        do {
            return try open(path, owner: owner, isHeld: isHeld)
        } catch {
            return .closed(UnavailableLocation(path, error: error))
        }
    }

    private static func open(_ path: String, owner: StagingOwner, isHeld: Bool) throws(FileError) -> StagingPlace {
        guard let (parent, id) = split(path) else {
            throw FileError(.wrongStore, message: "No persistence location has this path: \(path).", path: path)
        }
        do {
            let location = try Directory.open(parent)
            try OwnFolder.requireSharedFolder(location, path: parent)
            let folder = try location.openFolder(id.text)
            try OwnFolder.requireOwn(folder, path: path)
            switch try StagingMarker.file.read(in: folder) {
            case .found(let marker) where marker.layout > StagingMarker.currentLayout:
                throw FileError(.wrongStore, message: "\(path) was made by a newer version of LFS.", path: path)
            case .found(let marker) where marker.databaseID != owner.databaseID:
                throw FileError(.wrongStore, message: "\(path) belongs to another database.", path: path)
            case .found(let marker) where marker.store != owner.store:
                return .earlier(PreviousStoreFolder(path, folders: [folder]))
            case .found: return try own(folder, path: path, owner: owner, isHeld: isHeld)
            case .missing, .damaged, .unknown:
                let marker = folder.child(StagingMarker.file.name)
                throw FileError(
                    .wrongStore,
                    message: """
                        The owner of \(path) is unknown: \(marker) is missing or damaged. If it belongs to this \
                        database, move its files into the folder \(LocalStore.temporaryName) of the local store.
                        """,
                    path: path)
            }
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    private static func own(
        _ folder: Directory, path: String, owner: StagingOwner, isHeld: Bool
    ) throws(FileError) -> StagingPlace {
        do {
            return .own(try StagingArea(folder, isShared: true, isHeld: isHeld, protector: owner.protector))
        } catch let error where [.readOnly, .noSpace].contains(error.code) {
            // Nothing can be moved out of it, but all files can be read.
            return .earlier(PreviousStoreFolder(path, folders: [folder]))
        }
    }

    /// Splits a path into the location and the id of the folder in it. Returns nil if the folder's name is not an id.
    static func split(_ path: String) -> (parent: String, id: FileID)? {
        guard path.utf8.first == 0x2F, !path.utf8.contains(0), let slash = path.utf8.lastIndex(of: 0x2F),
            let id = FileID(text: String(path[path.utf8.index(after: slash)...]))
        else { return nil }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), id)
    }
}

/// A folder that may contain files of this database and cannot be used now.
package struct UnavailableLocation: Hashable, Sendable {
    package let path: String
    /// A sentence with the path and the reason.
    package let reason: String
    /// True if the path does not exist.
    package let isAbsent: Bool

    package init(_ path: String, error: FileError) {
        self.path = path
        isAbsent = error.code == .missing
        reason = isAbsent ? "\(path) does not exist. Is its disk mounted?" : error.message
    }
}
