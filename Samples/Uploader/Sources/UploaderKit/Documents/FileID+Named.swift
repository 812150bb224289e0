import LFS

extension FileID {
    /// Parses an id that a person has typed.
    ///
    /// - Throws: ``LFSError/Code/unknownFile`` for a text that is not a file id.
    static func named(_ text: String) throws(LFSError) -> FileID {
        guard let id = FileID(text) else {
            throw LFSError(.unknownFile, message: "There is no file '\(text)' in the database.")
        }
        return id
    }
}
