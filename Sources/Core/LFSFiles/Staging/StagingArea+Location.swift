import LFSSystem

extension StagingArea {
    /// Opens the owner's area in a persistence location. Creates the area and the location if they are missing. The
    /// parent of the location must exist.
    ///
    /// An area that was created for another database or another store stays unchanged, and a new one is created next to
    /// it.
    /// - Parameter wasUsed: true if the database has recorded an area in the location.
    /// - Throws: ``FileError/Code/folderAbsent`` if the location was used before and is missing, because it would be
    ///   created on the disk below its mount point, and ``FileError/Code/permissionDenied`` if other users can replace
    ///   its contents.
    package convenience init(in location: String, wasUsed: Bool, _ owner: StagingOwner) throws(FileError) {
        try self.init(Self.folder(in: location, wasUsed: wasUsed, owner), isShared: true, protector: owner.protector)
    }

    private static func folder(
        in location: String, wasUsed: Bool, _ owner: StagingOwner
    ) throws(FileError) -> Directory {
        let folder: Directory
        do {
            folder = try wasUsed ? Directory.open(location) : Directory.openOrMake(location)
            try OwnFolder.requireSharedFolder(folder, path: location)
        } catch let error as SystemError where error.isMissing && wasUsed {
            throw FileError(
                .folderAbsent,
                message: """
                    The persistence location \(location) was used before and is missing. Is its disk mounted? If it is \
                    lost for good, create it again: mkdir -m 700 '\(location)'
                    """,
                path: location, cause: error)
        } catch {
            throw FileError.keeping(error, at: location)
        }
        // The first name is the database's id. A crash may happen after an area was created and before the database
        // recorded it. With this name the next opening finds the area again. It cannot contain files yet.
        var id = FileID(text: owner.databaseID) ?? FileID.make()
        for _ in 0..<8 {
            if let area = try take(id, in: folder, owner: owner) { return area }
            id = FileID.make()
        }
        throw FileError(
            .permissionDenied,
            message: """
                Folders that are created in \(location) get another owner, so no file is safe there. Choose another \
                persistence location.
                """,
            path: location)
    }

    /// Opens a folder if its marker names the owner, or creates it.
    ///
    /// - Returns: nil if the folder belongs to another owner.
    private static func take(
        _ id: FileID, in location: Directory, owner: StagingOwner
    ) throws(FileError) -> Directory? {
        do {
            guard let folder = try open(id, in: location) else { return nil }
            guard try folder.status().isOurs else { return nil }
            if try isNew(folder) { try setUp(folder, in: location, owner: owner) }
            guard case .found(let found) = try StagingMarker.file.read(in: folder),
                found.layout <= StagingMarker.currentLayout,
                found.databaseID == owner.databaseID, found.store == owner.store
            else { return nil }
            return folder
        } catch {
            throw FileError.keeping(error, at: location.child(id.text))
        }
    }

    /// Returns true if the folder contains only the files that are made when an area is created.
    private static func isNew(_ folder: Directory) throws -> Bool {
        try folder.holdsOnly([StagingMarker.file.name, StagingMarker.lockName])
    }

    /// Creates the marker of an empty area, or replaces one that a crash has truncated. Does nothing while another
    /// process holds the area's lock, because that process does the same.
    private static func setUp(_ folder: Directory, in location: Directory, owner: StagingOwner) throws {
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
            // The name belongs to something else: a link, a file, or a folder of another user. If the name does not
            // exist, the folder could not be created.
            if try location.status(of: id.text) != nil { return nil }
            throw error
        }
    }
}
