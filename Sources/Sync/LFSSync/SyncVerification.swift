/// The result of a comparison with the server.
public struct SyncVerification: Sendable, Hashable {
    /// A difference between the rows of one table on this device and on the server.
    public struct Difference: Sendable, Hashable {
        /// The type of the rows, such as `RecipeV1`.
        public let type: String
        /// The scope that shares them, such as `album/` and the id of an album, or nil for the account's own rows.
        public let scope: String?
        /// The number of rows on this device before the repair.
        public let here: Int
        /// The number of rows on the server before the repair.
        public let there: Int
        /// True if they are equal now.
        public let isMended: Bool
    }

    /// The number of comparisons. Each table is compared once for the account's own rows, and once more for each album
    /// or other scope that is shared.
    public let compared: Int
    /// The tables whose rows differed, with the numbers of rows on both sides.
    public let differences: [Difference]
    /// Rows that differ, or may differ, between this device and the server. Their change was refused or waits, or they
    /// were received and cannot be applied. At most the newest 1,000 of each kind.
    public let problems: [SyncProblem]

    init(compared: Int, differences: [Difference], problems: [SyncProblem] = []) {
        self.compared = compared
        self.differences = differences
        self.problems = problems
    }
}
