extension SyncSchema {
    /// A table whose rows are shared as containers, such as an album with its members and links to its contents.
    ///
    /// A row of `table` with a member besides its owner becomes a separate scope, such as `album/<id>`. The scope
    /// contains the row, its members, its links, and the rows that the links refer to. A link counts while the account
    /// that owns the linked row owns the container or is a member of it. When members leave, their contents leave the
    /// container too. Without another member, the scope does not exist.
    ///
    /// ```swift
    /// SharedContainer("album", members: "album_user", links: "album_file", of: "lfs_file")
    /// ```
    public struct SharedContainer: Sendable, Hashable, Codable {
        /// The table of the containers.
        package var table: String
        /// The table of the members. It has a required column that refers to `table` with `onDelete: .cascade`.
        package var members: String
        /// The table of the links. It has a required column that refers to `table`, and one that refers to `content`,
        /// both with `onDelete: .cascade`.
        package var links: String
        /// The table that links refer to.
        package var content: String
        /// The required text column of `members` with an account's id.
        package var account: String
        /// The text column of `members` with the role. Members with the role `editor` may add and remove links. All
        /// others can only read.
        package var role: String

        /// Creates a container from the names of its tables and of the columns of `members`.
        ///
        /// - Parameters:
        ///   - table: the table of the containers.
        ///   - members: the table of the members.
        ///   - links: the table of the links.
        ///   - content: the table that links refer to.
        ///   - account: the column of `members` with the id of an account.
        ///   - role: the column of `members` with the role.
        public init(
            _ table: String, members: String, links: String, of content: String, account: String = "accountID",
            role: String = "role"
        ) {
            self.table = table
            self.members = members
            self.links = links
            self.content = content
            self.account = account
            self.role = role
        }
    }

    /// A table whose rows let an account read everything that another one has.
    ///
    /// ```swift
    /// Partners("partner", from: "sharedByID", to: "sharedWithID")
    /// ```
    public struct Partners: Sendable, Hashable, Codable {
        /// The name of the table.
        package var table: String
        /// The required text column with the id of the account whose rows are read. Only that account creates such a
        /// row.
        package var from: String
        /// The required text column with the id of the account that reads. It may delete the row.
        package var to: String

        /// Creates the table of partners from its name and its columns.
        ///
        /// - Parameters:
        ///   - table: the name of the table.
        ///   - from: the column with the account whose rows are read.
        ///   - to: the column with the account that reads.
        public init(_ table: String, from: String, to: String) {
            self.table = table
            self.from = from
            self.to = to
        }
    }

    /// A table with a row for each account: its name, and what else others may see, such as a picture.
    ///
    /// The row of an account has the account's id. The server creates it together with the account, with the account's
    /// name. The devices of the account change it. Each account that may read a shared container receives the rows of
    /// all others that may read it. The row is deleted with the account.
    ///
    /// ```swift
    /// People("user")
    /// ```
    public struct People: Sendable, Hashable, Codable {
        /// The name of the table. Its columns refer to no other table, because others do not receive those rows. All
        /// columns except `name` may be NULL or have a default.
        package var table: String
        /// The text column with the name of the account.
        package var name: String

        /// Creates the table of people from its name and the column of the account's name.
        public init(_ table: String, name: String = "name") {
            self.table = table
            self.name = name
        }
    }
}
