import GRDB
import LFS

extension FileID {
    /// Reads the id in a column. Nil for any other value. The generic function selects the conformance of `FileID`. A
    /// direct call of `fromDatabaseValue` would use GRDB's version for `Decodable` types, which creates a decoder for
    /// each value.
    init?(stored value: DatabaseValue) {
        func convert<Value: DatabaseValueConvertible>(_ value: DatabaseValue) -> Value? { .fromDatabaseValue(value) }
        guard let id: FileID = convert(value) else { return nil }
        self = id
    }
}
