import CPostgres
import LFSSyncServer

/// The single row of a libpq result, in text format.
struct PostgresRow: SQLRow {
    let result: OpaquePointer

    /// The type `boolean` of the catalog.
    private static let boolean: Oid = 16
    private static let integers: Set<Oid> = [20, 21, 23]
    private static let bytea: Oid = 17

    func integer(_ column: Int) throws -> Int64? {
        try withBytes(column) { bytes in
            let type = PQftype(result, Int32(column))
            if type == Self.boolean { return bytes.first == UInt8(ascii: "t") ? 1 : 0 }
            guard Self.integers.contains(type), let value = Int64(String(decoding: bytes, as: UTF8.self)) else {
                throw SQLFailure(.unusable, message: "Column \(column) of a result is not an integer.")
            }
            return value
        }
    }

    func text(_ column: Int) throws -> String? {
        let type = PQftype(result, Int32(column))
        guard !Self.integers.contains(type), type != Self.boolean, type != Self.bytea else {
            throw SQLFailure(.unusable, message: "Column \(column) of a result is not a text.")
        }
        return try withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Value) throws -> Value? {
        let column = Int32(column)
        guard PQgetisnull(result, 0, column) == 0, let start = PQgetvalue(result, 0, column) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, 0, column)))
        guard PQftype(result, column) == Self.bytea else { return try body(bytes) }
        var count = 0
        guard let plain = PQunescapeBytea(start, &count) else {
            throw SQLFailure(.unusable, message: "Column \(column) of a result is not a BLOB.")
        }
        defer { PQfreemem(plain) }
        return try body(UnsafeRawBufferPointer(start: plain, count: count))
    }
}
