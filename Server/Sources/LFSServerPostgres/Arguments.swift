import CPostgres
import LFSSyncServer

/// The arguments of a statement in PostgreSQL's binary format, with their types.
struct Arguments {
    /// Types of PostgreSQL's catalog: bytea, int8, text, float8, and their arrays. For 0, the server infers the type.
    private(set) var types: [Oid] = []
    private var bytes: [UInt8] = []
    private var ranges: [Range<Int>?] = []

    /// - Parameters:
    ///   - values: the single values.
    ///   - columns: the arrays after them.
    /// - Throws: `SQLFailure` for a text with a NUL, which PostgreSQL cannot store.
    init(_ values: [SQLValue], columns: [SQLColumn] = []) throws {
        for value in values {
            let start = bytes.count
            let isNull = try !append(value)
            add(Self.type(of: value), start: isNull ? nil : start)
        }
        for column in columns { try append(column) }
    }

    /// Appends a value without its length.
    ///
    /// - Returns: false for NULL.
    private mutating func append(_ value: SQLValue) throws -> Bool {
        switch value {
        case .null: return false
        case .integer(let value): withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
        // SQLite stores NULL for it.
        case .real(let value) where value.isNaN: return false
        case .real(let value): withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes += $0 }
        case .text(let text):
            guard !text.utf8.contains(0) else {
                throw SQLFailure(.invalidValue, message: "A text has a NUL, which PostgreSQL does not accept.")
            }
            bytes += text.utf8
        case .blob(let value): bytes += value
        }
        return true
    }

    /// Appends an array of one dimension: its head (`array_send` in PostgreSQL's `arrayfuncs.c`), and each value after
    /// its length.
    private mutating func append(_ column: SQLColumn) throws {
        let start = bytes.count
        let (element, array) = Self.types(of: column.kind)
        for number in [1, 1, Int32(element), Int32(column.values.count), 1] { append(number) }
        for value in column.values {
            let place = bytes.count
            append(-1)
            guard try append(value) else { continue }
            withUnsafeBytes(of: Int32(bytes.count - place - 4).bigEndian) { length in
                bytes.replaceSubrange(place..<place + 4, with: length)
            }
        }
        add(array, start: start)
    }

    private mutating func append(_ number: Int32) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    private static func type(of value: SQLValue) -> Oid {
        switch value {
        case .null: 0
        case .integer: types(of: .integer).element
        case .real: types(of: .real).element
        case .text: types(of: .text).element
        case .blob: types(of: .blob).element
        }
    }

    private static func types(of kind: SQLColumn.Kind) -> (element: Oid, array: Oid) {
        switch kind {
        case .integer: (20, 1016)
        case .real: (701, 1022)
        case .text: (25, 1009)
        case .blob: (17, 1001)
        }
    }

    private mutating func add(_ type: Oid, start: Int?) {
        types.append(type)
        ranges.append(start.map { $0..<bytes.count })
    }

    /// Calls `body` with the arguments of libpq: the number, the addresses, the lengths, and the binary format flags.
    func withPointers<Value>(
        _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) -> Value
    ) -> Value {
        // The extra byte gives an empty array an address, so that an empty text is not sent as NULL.
        (bytes + [0]).withUnsafeBytes { all in
            let start = all.baseAddress?.assumingMemoryBound(to: CChar.self)
            return body(
                Int32(ranges.count), ranges.map { range in range.flatMap { start?.advanced(by: $0.lowerBound) } },
                ranges.map { Int32($0?.count ?? 0) }, ranges.map { _ in 1 })
        }
    }
}
