import Foundation
import LFSFiles

extension LFSManager {
    /// The folders that were used before and are not there now, such as those on an unmounted disk.
    ///
    /// Files whose only bytes may be in one of them wait, and reading them throws ``LFSError/Code/folderAbsent``. They
    /// go on by themselves when the folder is back; an earlier local store is found again by the next opening.
    ///
    /// - Throws: the database's error; ``LFSError`` when a folder that is there does not let itself be read.
    public func absentFolders() async throws -> [AbsentFolder] {
        let search = MissingFileSearch(runner: runner, places: places)
        return try await LFSError.catching {
            try await search.refreshPlaces()
            return try await search.absent().map {
                AbsentFolder(url: URL(fileURLWithPath: $0.path, isDirectory: true), reason: $0.reason)
            }
        }
    }
}
