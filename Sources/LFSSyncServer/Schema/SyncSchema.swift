/// What devices share through a server: tables, their columns, and how rows refer to each other.
public struct SyncSchema: Sendable, Hashable, Codable {
    public var tables: [Table]
    /// What accounts share with each other.
    public var containers: [SharedContainer]
    /// Who reads all of whose rows; nil where nobody does.
    public var partners: Partners?

    /// A table of the devices, which the server has as well.
    public struct Table: Sendable, Hashable, Codable {
        /// As on the devices. Letters, digits and `_`.
        public var name: String
        /// All but the primary key, which is the text column `id`, unique in the world.
        public var columns: [Column]

        public init(_ name: String, _ columns: [Column]) {
            self.name = name
            self.columns = columns
        }

        /// The newest version of its rows on the wire.
        public var version: Int { columns.map(\.since).max() ?? 1 }
    }

    /// A column of a table.
    public struct Column: Sendable, Hashable, Codable {
        /// What it takes.
        public enum Kind: String, Sendable, Hashable, Codable {
            case integer, real, text, blob
        }

        public var name: String
        public var kind: Kind
        /// Whether it never is NULL.
        public var isRequired: Bool
        /// The table whose `id` it has; nil when it refers to none.
        public var parent: Parent?
        /// The first version of the table's rows that has it.
        public var since: Int

        public init(
            _ name: String, _ kind: Kind, isRequired: Bool = false, parent: Parent? = nil, since: Int = 1
        ) {
            self.name = name
            self.kind = kind
            self.isRequired = isRequired
            self.parent = parent
            self.since = since
        }
    }

    /// A reference to a row, and what becomes of the child when that row goes.
    public struct Parent: Sendable, Hashable, Codable {
        public enum Action: String, Sendable, Hashable, Codable {
            case noAction, cascade, setNull
        }

        public var table: String
        public var onDelete: Action

        public init(_ table: String, onDelete: Action = .noAction) {
            self.table = table
            self.onDelete = onDelete
        }
    }

    /// - Parameters:
    ///   - tables: besides `lfs_file`, which every schema has.
    ///   - containers: what accounts share part of.
    ///   - partners: which accounts read all of another's rows; nil for none.
    public init(tables: [Table] = [], containers: [SharedContainer] = [], partners: Partners? = nil) {
        (self.tables, self.containers, self.partners) = ([.files] + tables, containers, partners)
    }
}

extension SyncSchema.Table {
    /// The files themselves.
    public static let files = SyncSchema.Table(
        "lfs_file",
        [
            .init("name", .text), .init("contentType", .text), .init("byteCount", .integer, isRequired: true),
            .init("sha256", .text, isRequired: true), .init("key", .text, isRequired: true),
            .init("createdAt", .text, isRequired: true), .init("status", .text, isRequired: true), .init("url", .text),
            .init("deviceID", .text),
        ])
}
