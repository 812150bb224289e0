public import GRDB
public import LFSSystem

extension FileID: DatabaseValueConvertible {
    /// Its text.
    public var databaseValue: DatabaseValue { text.databaseValue }

    /// The id that a lowercase UUID stands for; nil for any other value.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> FileID? {
        String.fromDatabaseValue(value).flatMap(FileID.init(text:))
    }
}
