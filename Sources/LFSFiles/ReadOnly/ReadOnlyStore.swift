package import LFSSystem

/// The folders that have the files of a database, opened for nothing but reading: no folder is made, no lock is taken
/// and no byte is changed in any of them.
package struct ReadOnlyStore: Sendable {
    private let folders: [Directory]

    /// - Parameters:
    ///   - path: the local store; without a folder there, no file is found in it.
    ///   - locations: folders in which files wait for their commit, as the database names them. Those that are not
    ///     there, or do not say that they are this database's, are passed over.
    /// - Throws: ``FileError/Code/wrongStore`` when the local store belongs to another database.
    package init(at path: String, databaseID: String, locations: [String]) throws {
        do {
            folders = try Self.folders(path, databaseID, locations)
        } catch let error as SystemError {
            throw FileError.keeping(error, at: path)
        }
    }

    private static func folders(_ path: String, _ databaseID: String, _ locations: [String]) throws -> [Directory] {
        var folders: [Directory] = []
        // A folder without a marker is one that is being made.
        if let store = try open(path), let owner = try StoreMarker.find(in: store)?.databaseID {
            guard owner == databaseID else {
                throw FileError(.wrongStore, "\(path) does not say that it belongs to this database.", path: path)
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

    /// Opens a file for reading; nil when none of the folders has it. Blocks the thread.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        for folder in folders {
            if let file = try folder.openRegular(id.text) { return file }
        }
        // It may have moved into the store since that was asked.
        return try folders.first?.openRegular(id.text)
    }

    private static func open(_ path: String) throws -> Directory? {
        guard let folder = try Directory.find(path) else { return nil }
        try OwnFolder.require(folder.status(), path)
        return folder
    }
}
