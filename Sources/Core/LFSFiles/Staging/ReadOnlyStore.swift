package import LFSSystem

/// The folders with a database's files, opened for reading only. It creates no folder, acquires no lock and changes no
/// byte.
package struct ReadOnlyStore: Sendable {
    private let folders: [Directory]

    /// - Parameters:
    ///   - path: the local store. If the folder does not exist, no file is found in it.
    ///   - locations: the folders where files wait for their commit, as recorded in the database. A folder is skipped
    ///     if it does not exist, or if its marker does not name this database.
    /// - Throws: ``FileError/Code/wrongStore`` if the local store belongs to another database.
    package init(at path: String, databaseID: String, locations: [String]) throws {
        do {
            folders = try Self.folders(path, databaseID: databaseID, locations: locations)
        } catch let error as SystemError {
            throw FileError.keeping(error, at: path)
        }
    }

    private static func folders(_ path: String, databaseID: String, locations: [String]) throws -> [Directory] {
        var folders: [Directory] = []
        // A folder without a marker is still being created.
        if let store = try open(path), let owner = try StoreMarker.find(in: store)?.databaseID {
            guard owner == databaseID else {
                throw FileError(
                    .wrongStore, message: "\(path) belongs to another database.", path: path)
            }
            folders += try LocalStore.foldersWithFiles(in: store)
        }
        for location in locations where StagingPlace.split(location) != nil {
            guard let folder = try open(location) else { continue }
            guard case .found(let marker) = try StagingMarker.file.read(in: folder) else { continue }
            if marker.databaseID == databaseID { folders.append(folder) }
        }
        return folders
    }

    /// Opens a file for reading. Returns nil if no folder contains it. Blocks the thread.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        for folder in folders {
            if let file = try folder.openRegular(id.text) { return file }
        }
        // The file may have been moved into the store after the store was searched.
        return try folders.first?.openRegular(id.text)
    }

    private static func open(_ path: String) throws -> Directory? {
        guard let folder = try Directory.find(path) else { return nil }
        try OwnFolder.requireOwn(folder, path: path)
        return folder
    }
}
