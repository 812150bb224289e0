public import LFSSystem

/// The id of a file: UUID version 7 (RFC 9562, section 5.7), as lowercase text in the database, in JSON, on disk and in
/// object keys. Ids sort in the order in which their files were made.
public typealias FileID = LFSSystem.FileID

extension FileID: LosslessStringConvertible {
    /// Creates an id from its text. Nil when the text is not a lowercase UUID.
    public init?(_ description: String) { self.init(text: description) }

    /// The lowercase text.
    public var uuidString: String { text }
}

extension FileID: Identifiable {
    /// The id itself, so that methods take a file or its id.
    public var id: FileID { self }
}
