import GRDB
import LFS

extension FileID {
    /// The id in a column; nil for any other value. By its conformance: `fromDatabaseValue` by name is here the one
    /// that GRDB has for all that is `Decodable`, with a decoder for each value.
    init?(stored value: DatabaseValue) {
        func convert<Value: DatabaseValueConvertible>(_ value: DatabaseValue) -> Value? { .fromDatabaseValue(value) }
        guard let id: FileID = convert(value) else { return nil }
        self = id
    }
}
