/// An item of the journal that is damaged and cannot be used. All other items remain usable.
public struct DamagedRecord: Hashable, Sendable {
    /// The damaged item: a path in the folder, or a table and the id of a row.
    public let name: String
    /// A sentence for the person who repairs the item.
    public let reason: String
}
