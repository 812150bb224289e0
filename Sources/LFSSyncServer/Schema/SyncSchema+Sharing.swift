extension SyncSchema {
    /// A table whose rows are shared as containers: an album with its members, and links to what lies in it.
    ///
    /// A row of `table` that has a member besides its owner is a scope of its own, `album/<id>`, with the row, its
    /// members, its links, and what they lead to. A link counts while the account whose row it leads to owns the
    /// container or is a member of it: leaving takes along what one has brought. Without another member there is no
    /// scope.
    ///
    /// ```swift
    /// SharedContainer("album", members: "album_user", links: "album_file", of: "lfs_file")
    /// ```
    public struct SharedContainer: Sendable, Hashable, Codable {
        /// The containers.
        public var table: String
        /// Has a required column that refers to `table` with `onDelete: .cascade`.
        public var members: String
        /// Has a required column that refers to `table`, and one that refers to `content`, both with
        /// `onDelete: .cascade`.
        public var links: String
        /// The table that links lead to.
        public var content: String
        /// The required text column of `members` that has an account's id.
        public var account: String
        /// The text column of `members` that is `editor` for who may add and remove links; all else reads.
        public var role: String

        public init(
            _ table: String, members: String, links: String, of content: String, account: String = "accountID",
            role: String = "role"
        ) {
            (self.table, self.members, self.links, self.content) = (table, members, links, content)
            (self.account, self.role) = (account, role)
        }
    }

    /// A table whose rows let one account read all that another one has.
    ///
    /// ```swift
    /// Partners("partner", from: "sharedByID", to: "sharedWithID")
    /// ```
    public struct Partners: Sendable, Hashable, Codable {
        public var table: String
        /// The required text column with the id of the account that is read: only that account makes such a row.
        public var from: String
        /// The required text column with the id of the account that reads: it may delete the row.
        public var to: String

        public init(_ table: String, from: String, to: String) {
            (self.table, self.from, self.to) = (table, from, to)
        }
    }
}
