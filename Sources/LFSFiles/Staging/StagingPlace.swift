import LFSSystem

/// What is at a path that a row of the database names as a staging area.
///
/// Another program may have written the row, so it gives no right to anything in the folder: the marker in the folder
/// has to say whose it is. No link is followed below the persistence location. Links in the path to it are the app's
/// own.
package enum StagingPlace: Sendable {
    /// Made for this database and this store: files are taken out of it, and swept.
    case own(StagingArea)
    /// Made for this database with another store: the database was moved since, or it is a copy of the one that made
    /// the folder. Files are copied out of it, and nothing in it is changed.
    case earlier(EarlierFolder)
    /// Everything else: nothing in it is looked at.
    case closed(ClosedPlace)

    package static func look(at path: String, _ owner: StagingOwner) -> StagingPlace {
        do {
            return try open(path, owner)
        } catch {
            return .closed(ClosedPlace(path, error))
        }
    }

    private static func open(_ path: String, _ owner: StagingOwner) throws(FileError) -> StagingPlace {
        guard let (parent, id) = split(path) else {
            throw FileError(.wrongStore, "No persistence location has this path: \(path).", path: path)
        }
        do {
            let location = try Directory.open(parent)
            try OwnFolder.requireShared(location.status(), parent)
            let folder = try location.openFolder(id.text)
            try OwnFolder.require(folder.status(), path)
            switch try StagingMarker.file.read(in: folder) {
            case .found(let marker) where marker.layout > StagingMarker.currentLayout:
                throw FileError(.wrongStore, "\(path) was made by a newer version of LFS.", path: path)
            case .found(let marker) where marker.databaseID != owner.databaseID:
                throw FileError(.wrongStore, "\(path) belongs to another database.", path: path)
            case .found(let marker) where marker.store != owner.store:
                return .earlier(EarlierFolder(path, [folder]))
            case .found: return try own(folder, path)
            case .missing, .damaged, .unknown:
                let marker = folder.child(StagingMarker.file.name)
                throw FileError(
                    .wrongStore,
                    """
                    \(path) does not say whose it is: \(marker) is missing or damaged. If it is this database's, move \
                    the files in it into the folder \(LocalStore.temporaryName) of the local store.
                    """,
                    path: path)
            }
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    private static func own(_ folder: Directory, _ path: String) throws(FileError) -> StagingPlace {
        do {
            return .own(try StagingArea(folder, isShared: true))
        } catch let error where [.readOnly, .noSpace].contains(error.code) {
            // Nothing can be taken out of it, and all of it can be read.
            return .earlier(EarlierFolder(path, [folder]))
        }
    }

    /// The location and the folder in it, if that has a name as we make it.
    static func split(_ path: String) -> (parent: String, id: FileID)? {
        guard path.utf8.first == 0x2F, !path.utf8.contains(0), let slash = path.utf8.lastIndex(of: 0x2F),
            let id = FileID(text: String(path[path.utf8.index(after: slash)...]))
        else { return nil }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), id)
    }
}

/// A folder that may have bytes of ours and cannot be used now.
package struct ClosedPlace: Hashable, Sendable {
    package let path: String
    /// A sentence that names it.
    package let reason: String
    /// Whether there is nothing at the path.
    package let isAbsent: Bool

    package init(_ path: String, _ error: FileError) {
        self.path = path
        isAbsent = error.code == .missing
        reason = isAbsent ? "\(path) is not there. Is its disk mounted?" : error.message
    }
}
