import CPostgres
import LFSSyncServer

/// The arguments of a statement as the server reads them: binary, with their types.
struct Arguments {
    /// Types of PostgreSQL's catalog: bytea, int8, text, float8; 0 leaves it to the server.
    private(set) var types: [Oid] = []
    private var bytes: [UInt8] = []
    private var ranges: [Range<Int>?] = []

    /// - Throws: `SQLFailure` for a text with a NUL, which PostgreSQL cannot hold.
    init(_ values: [SQLValue]) throws {
        for value in values {
            let start = bytes.count
            switch value {
            case .null:
                add(0, nil)
                continue
            case .integer(let value):
                withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
                add(20, start)
            // SQLite makes NULL of it.
            case .real(let value) where value.isNaN: add(701, nil)
            case .real(let value):
                withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes += $0 }
                add(701, start)
            case .text(let text):
                guard !text.utf8.contains(0) else {
                    throw SQLFailure(.invalidValue, "A text has a NUL, which PostgreSQL does not take.")
                }
                bytes += text.utf8
                add(25, start)
            case .blob(let value):
                bytes += value
                add(17, start)
            }
        }
    }

    private mutating func add(_ type: Oid, _ start: Int?) {
        types.append(type)
        ranges.append(start.map { $0..<bytes.count })
    }

    /// Calls libpq with the number of arguments, where they are, how long they are, and that they are binary.
    func withPointers<Value>(
        _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) -> Value
    ) -> Value {
        // An empty array has no address, and an empty text is not NULL.
        (bytes + [0]).withUnsafeBytes { all in
            let start = all.baseAddress?.assumingMemoryBound(to: CChar.self)
            return body(
                Int32(ranges.count), ranges.map { range in range.flatMap { start?.advanced(by: $0.lowerBound) } },
                ranges.map { Int32($0?.count ?? 0) }, ranges.map { _ in 1 })
        }
    }
}
