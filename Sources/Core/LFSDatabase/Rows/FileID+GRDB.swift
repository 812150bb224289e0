public import GRDB
public import LFSSystem

extension FileID: DatabaseValueConvertible {
    /// The text of the id.
    public var databaseValue: DatabaseValue { text.databaseValue }

    /// Returns the id for a lowercase UUID, or nil for any other value.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> FileID? {
        String.fromDatabaseValue(value).flatMap(FileID.init(text:))
    }
}
