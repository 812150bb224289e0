/// Something of the journal that cannot be used as it is, and what it is. Everything else goes on.
public struct DamagedRecord: Hashable, Sendable {
    /// What is damaged: a path in the folder, or a table and the id of a row.
    public let name: String
    /// A sentence for the person who has to mend it.
    public let reason: String

    /// A finding, also as tests and previews make it.
    ///
    /// - Parameters:
    ///   - name: what is damaged.
    ///   - reason: a sentence for the person who has to mend it.
    public init(name: String, reason: String) {
        self.name = name
        self.reason = reason
    }
}
