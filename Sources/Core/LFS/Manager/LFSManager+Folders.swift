import Foundation
import LFSFiles

extension LFSManager {
    /// Returns the folders that were used before and are absent now, such as those on an unmounted disk.
    ///
    /// Files whose only bytes may be in such a folder stay pending. Reading them throws ``LFSError/Code/folderAbsent``.
    /// They continue automatically when the folder is back. An earlier local store is found again by the next opening.
    ///
    /// - Throws: the database's error, and ``LFSError`` when an existing folder cannot be read.
    package func absentFolders() async throws -> [AbsentFolder] {
        let search = MissingFileSearch(runner: runner, places: places)
        return try await LFSError.catching {
            try await search.refreshPlaces()
            return try await search.absent().map {
                AbsentFolder(url: URL(fileURLWithPath: $0.path, isDirectory: true), reason: $0.reason)
            }
        }
    }
}
