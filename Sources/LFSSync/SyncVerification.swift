/// What has come of a comparison with the server.
public struct SyncVerification: Sendable, Hashable {
    /// Rows of one table that are here and on the server, and were not the same.
    public struct Difference: Sendable, Hashable {
        /// The type of the rows, such as `RecipeV1`.
        public let type: String
        /// Who shares them, such as `album/` and the id of an album; nil for the account's own.
        public let scope: String?
        /// How many there were here.
        public let here: Int
        /// How many there were on the server.
        public let there: Int
        /// Whether they are the same now.
        public let isMended: Bool
    }

    /// How many kinds of rows were compared: each table, and again for each album or whatever else is shared.
    public let compared: Int
    public let differences: [Difference]
    /// Rows that are not the same here and on the server, or need not be: their change was refused or waits, or they
    /// have come and cannot be applied. At most 1,000 of each kind, the newest ones.
    public let problems: [SyncProblem]

    init(compared: Int, differences: [Difference], problems: [SyncProblem] = []) {
        self.compared = compared
        self.differences = differences
        self.problems = problems
    }
}
