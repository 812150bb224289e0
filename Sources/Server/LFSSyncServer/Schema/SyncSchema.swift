/// The tables that devices share through a server, with their columns and references.
public struct SyncSchema: Sendable, Hashable, Codable {
    /// The tables, including `lfs_file`.
    public var tables: [Table]
    /// The containers that accounts share with each other.
    public var containers: [SharedContainer]
    /// The table that lets accounts read all rows of another one, or nil if no account may do so.
    public var partners: Partners?
    /// The table of people, from which members of a shared container learn each other's names. Nil for none.
    public var people: People?

    /// A table of the devices that the server has as well.
    public struct Table: Sendable, Hashable, Codable {
        /// The name as on the devices. It has letters, digits and `_`.
        public var name: String
        /// All columns except the primary key, which is the text column `id` with globally unique values.
        public var columns: [Column]

        /// Creates a table from its name and its columns without the primary key.
        public init(_ name: String, columns: [Column]) {
            self.name = name
            self.columns = columns
        }

        /// The newest version of the table's rows in messages.
        package var version: Int { columns.map(\.since).max() ?? 1 }
    }

    /// A column of a table.
    public struct Column: Sendable, Hashable, Codable {
        /// The kind of values in a column.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// A whole number of 64 bits.
            case integer
            /// A floating-point number of 64 bits.
            case real
            /// A text in UTF-8.
            case text
            /// Bytes.
            case blob
        }

        /// The name as on the devices.
        package var name: String
        /// The kind of its values.
        package var kind: Kind
        /// True if the column is never NULL.
        package var isRequired: Bool
        /// The table whose `id` the column contains, or nil if the column is not a reference.
        package var parent: Parent?
        /// The first version of the table's rows that contains the column.
        package var since: Int
        /// The value of the column in rows of devices whose app lacks it. Nil for NULL.
        package var defaultValue: SQLValue?

        /// Creates a column. By default it may be NULL, refers to no table, and belongs to the first version.
        ///
        /// - Parameters:
        ///   - name: the name as on the devices.
        ///   - kind: the kind of its values.
        ///   - isRequired: true if the column is never NULL.
        ///   - parent: the table to which the column refers, or nil.
        ///   - since: the first version of the table's rows that contains the column.
        ///   - defaultValue: a value of that kind for rows of devices whose app lacks the column, as in the app's own
        ///     table. A column that is never NULL needs it, if it is added to an existing table.
        public init(
            _ name: String, kind: Kind, isRequired: Bool = false, parent: Parent? = nil, since: Int = 1,
            defaultValue: SQLValue? = nil
        ) {
            self.name = name
            self.kind = kind
            self.isRequired = isRequired
            self.parent = parent
            self.since = since
            self.defaultValue = defaultValue
        }

        /// True if no row of the server has NULL in the column. Without a default, rows of devices with an older
        /// version have NULL.
        var isNeverNull: Bool { isRequired && (since == 1 || defaultValue != nil) }
    }

    /// A reference to a row, with the effect of deleting that row.
    public struct Parent: Sendable, Hashable, Codable {
        /// The effect on a row when the row that it refers to is deleted.
        public enum Action: String, Sendable, Hashable, Codable {
            /// The deletion is refused while rows refer to the row.
            case noAction
            /// The row is deleted as well.
            case cascade
            /// The reference becomes NULL.
            case setNull
        }

        /// The table that the column refers to.
        package var table: String
        /// The effect of a deletion in that table.
        package var onDelete: Action

        /// Creates a reference to a table. By default a deletion is refused while rows refer to the row.
        public init(_ table: String, onDelete: Action = .noAction) {
            self.table = table
            self.onDelete = onDelete
        }
    }

    /// Creates a schema with the table of files and further tables.
    ///
    /// - Parameters:
    ///   - tables: the tables besides `lfs_file`, which every schema has.
    ///   - containers: the containers that accounts share.
    ///   - partners: the table that lets accounts read all rows of another one, or nil.
    ///   - people: the table of people, or nil.
    public init(
        tables: [Table] = [], containers: [SharedContainer] = [], partners: Partners? = nil, people: People? = nil
    ) {
        self.tables = [.files] + tables
        self.containers = containers
        self.partners = partners
        self.people = people
    }
}

extension SyncSchema {
    /// Returns true if accounts share the same with each other in both schemas.
    func hasSameSharing(as other: SyncSchema) -> Bool {
        containers == other.containers && partners == other.partners && people == other.people
    }
}

extension SyncSchema.Table {
    /// The table of files.
    package static let files = SyncSchema.Table(
        "lfs_file",
        columns: [
            .init("name", kind: .text), .init("contentType", kind: .text),
            .init("byteCount", kind: .integer, isRequired: true),
            .init("sha256", kind: .text, isRequired: true), .init("key", kind: .text, isRequired: true),
            .init("createdAt", kind: .text, isRequired: true), .init("status", kind: .text, isRequired: true),
            .init("url", kind: .text),
            .init("deviceID", kind: .text),
        ])
}
