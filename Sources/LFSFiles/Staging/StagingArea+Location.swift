import LFSSystem

extension StagingArea {
    /// Opens the area of an owner in a persistence location, and makes it, and the location, if they are missing; the
    /// parent of the location has to exist.
    ///
    /// An area that was made for another database or another store stays as it is, and a new one is made beside it.
    /// - Parameter wasUsed: whether the database knows of an area in it.
    /// - Throws: ``FileError/Code/folderAbsent`` when the location was used before and is not there: it would be made
    ///   on the disk below its mount point; ``FileError/Code/permissionDenied`` when others can replace what is in it.
    package convenience init(in location: String, wasUsed: Bool, _ owner: StagingOwner) throws(FileError) {
        try self.init(Self.folder(in: location, wasUsed: wasUsed, owner), isShared: true)
    }

    private static func folder(
        in location: String, wasUsed: Bool, _ owner: StagingOwner
    ) throws(FileError) -> Directory {
        let folder: Directory
        do {
            folder = try wasUsed ? Directory.open(location) : Directory.openOrMake(location)
            try OwnFolder.requireShared(folder.status(), location)
        } catch let error as SystemError where error.isMissing && wasUsed {
            throw FileError(
                .folderAbsent,
                """
                The persistence location \(location) was used before and is not there. Is its disk mounted? If it is \
                gone for good, make it anew: mkdir -m 700 '\(location)'
                """,
                path: location, cause: error)
        } catch {
            throw FileError.keeping(error, at: location)
        }
        // The first name is the database's id. A crash may come after an area was made and before the database noted
        // it; by that name the next opening finds it again. No file can be in it yet.
        var id = FileID(text: owner.databaseID) ?? FileID.make()
        for _ in 0..<8 {
            if let area = try take(id, in: folder, owner) { return area }
            id = FileID.make()
        }
        throw FileError(
            .permissionDenied,
            """
            Folders that are made in \(location) get another owner, so no file is safe there. Choose another \
            persistence location.
            """,
            path: location)
    }

    /// Opens a folder if it says that it is the owner's, or makes it.
    ///
    /// - Returns: nil when it is somebody else's.
    private static func take(
        _ id: FileID, in location: Directory, _ owner: StagingOwner
    ) throws(FileError) -> Directory? {
        do {
            guard let folder = try open(id, in: location) else { return nil }
            guard try folder.status().owner == FileStatus.currentUser else { return nil }
            if try isNew(folder) { try setUp(folder, in: location, owner) }
            guard case .found(let found) = try StagingMarker.file.read(in: folder),
                found.layout <= StagingMarker.currentLayout,
                found.databaseID == owner.databaseID, found.store == owner.store
            else { return nil }
            return folder
        } catch {
            throw FileError.keeping(error, at: location.child(id.text))
        }
    }

    /// Whether there is nothing in it but what the making of an area leaves.
    private static func isNew(_ folder: Directory) throws -> Bool {
        try folder.holdsOnly([StagingMarker.file.name, StagingMarker.lockName])
    }

    /// Makes the marker of an empty area, and replaces one that a crash has cut off. Does nothing while another process
    /// holds the area's lock, since that process does the same.
    private static func setUp(_ folder: Directory, in location: Directory, _ owner: StagingOwner) throws {
        let lock = try OwnFolder.lock(StagingMarker.lockName, in: folder)
        guard try lock.tryLock(.exclusive) else { return }
        defer { withExtendedLifetime(lock) {} }
        switch try StagingMarker.file.read(in: folder) {
        case .missing, .damaged:
            try StagingMarker.file.makeInPlace(StagingMarker(owner), in: folder)
            try location.synchronize()
        case .found, .unknown: break
        }
    }

    private static func open(_ id: FileID, in location: Directory) throws(SystemError) -> Directory? {
        do {
            return try location.openOrMake(id.text)
        } catch {
            // Something else has the name: a link, a file, a folder of another user. Without anything of that name the
            // folder could not be made.
            if try location.status(of: id.text) != nil { return nil }
            throw error
        }
    }
}
