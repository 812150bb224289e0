/// A mark of the history of a store.
///
/// The host keeps it outside of what a restore of the database brings back. If the store does not contain the mark at
/// the next comparison, it is an older copy. Several servers of one database each keep their own mark.
public struct SyncHistoryMark: Sendable, Hashable, Codable {
    /// The number of the mark in the store. It ascends, and leaps at each restore.
    let count: Int64
    /// The identity of the mark.
    let id: String

    /// The maximum count. A larger one in a damaged file is no mark of a store.
    static let largestCount: Int64 = 1 << 62
    /// The distance between the counts of two histories, which is more marks than a store ever receives in one.
    static let leap: Int64 = 1 << 32

    init(count: Int64, id: String) {
        self.count = count
        self.id = id
    }

    /// Decodes a mark.
    ///
    /// - Throws: `DecodingError`, also for a count that no store has.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        count = try container.decode(Int64.self, forKey: .count)
        id = try container.decode(String.self, forKey: .id)
        guard (0...Self.largestCount).contains(count) else {
            throw DecodingError.dataCorruptedError(
                forKey: .count, in: container, debugDescription: "The count is out of range.")
        }
    }

    private enum CodingKeys: String, CodingKey { case count, id }
}
