package import LFSSystem

extension LocalStore {
    /// Puts staged bytes, which were found to be the recorded ones, in the place of a file. Other bytes that stand
    /// there are of no use any more and go; a folder is moved into quarantine. Blocks the thread.
    package func replace(_ id: FileID, with staged: FileID, from area: StagingArea) throws {
        if try status(of: id)?.isDirectory == true { try clear(id) }
        let file = try area.directory.openForReading(staged.text)
        do {
            try file.setMode(0o400)
            try area.directory.rename(staged.text, to: directory, as: id.text)
        } catch let error where error.isOtherFileSystem {
            try copyIn(staged, as: id, from: area)
        }
        try directory.synchronize()
    }
}
