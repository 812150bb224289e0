import LFS

extension FileID {
    /// The id that a person has typed.
    ///
    /// - Throws: ``LFSError/Code/unknownFile`` for a text that is the id of no file.
    static func named(_ text: String) throws(LFSError) -> FileID {
        guard let id = FileID(text) else {
            throw LFSError(.unknownFile, "There is no file '\(text)' in the database.")
        }
        return id
    }
}
