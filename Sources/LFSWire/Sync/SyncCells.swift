/// The values of a row one after the other in one piece of memory. A text is there as the bytes that have come, and not
/// as a String: nearly all of them go on into a database as they are.
package struct SyncCells: Sendable {
    /// For each a tag, eight bytes with its number or the count of what follows, and that: native order.
    private var bytes: [UInt8] = []
    package private(set) var count = 0
    /// Whether a text has the character NUL in itself, at which others may cut it off.
    package private(set) var hasNUL = false

    /// A value where it lies: its bytes count within the call only.
    package enum Cell {
        case null
        case integer(Int64)
        case real(Double)
        /// UTF-8.
        case text(UnsafeRawBufferPointer)
        case blob(UnsafeRawBufferPointer)
    }

    private enum Tag {
        static let null: UInt8 = 0
        static let integer: UInt8 = 1
        static let real: UInt8 = 2
        static let text: UInt8 = 3
        static let blob: UInt8 = 4
    }

    private static let headLength = 9

    package init() {}

    package init(_ values: some Sequence<SyncValue>) { for value in values { append(value) } }

    /// - Parameters:
    ///   - count: how many values will most likely come.
    ///   - byteCount: of all texts and blobs.
    package mutating func reserve(_ count: Int, byteCount: Int) {
        bytes.reserveCapacity(count * Self.headLength + byteCount)
    }

    package mutating func append(_ value: SyncValue) {
        switch value {
        case .null: append(Tag.null, 0)
        case .integer(let value): append(Tag.integer, UInt64(bitPattern: value))
        case .real(let value): append(Tag.real, value.bitPattern)
        case .text(let text): appendText { $0 += text.utf8 }
        case .blob(let blob):
            append(Tag.blob, UInt64(blob.count))
            bytes += blob
        }
    }

    /// Adds a text.
    ///
    /// - Parameter write: has to write UTF-8 at the end of the bytes, and to leave those before alone.
    package mutating func appendText<Failure>(_ write: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        let start = bytes.count
        append(Tag.text, 0)
        let textStart = bytes.count
        try write(&bytes)
        let count = UInt64(bytes.count - textStart)
        let hasNUL = bytes.withUnsafeMutableBytes { all in
            all.storeBytes(of: count, toByteOffset: start + 1, as: UInt64.self)
            return all[textStart...].contains(0)
        }
        if hasNUL { self.hasNUL = true }
    }

    private mutating func append(_ tag: UInt8, _ number: UInt64) {
        bytes.append(tag)
        withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
        count += 1
    }

    /// Whether the first value is a text.
    package var startsWithText: Bool { bytes.first == Tag.text }

    /// Bytes of all texts and blobs, and a little more.
    package var byteCount: Int { bytes.count }

    /// Shows the values in their order.
    ///
    /// - Parameter body: gets the number of a value, and the value; returns whether to go on.
    package func forEach(_ body: (Int, Cell) throws -> Bool) rethrows {
        try bytes.withUnsafeBytes { all in
            var offset = 0
            for index in 0..<count {
                let tag = all[offset]
                let number = all.loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self)
                offset += Self.headLength
                var cell = Cell.null
                switch tag {
                case Tag.integer: cell = .integer(Int64(bitPattern: number))
                case Tag.real: cell = .real(Double(bitPattern: number))
                case Tag.text, Tag.blob:
                    let content = UnsafeRawBufferPointer(rebasing: all[offset..<offset + Int(number)])
                    offset += content.count
                    cell = tag == Tag.text ? .text(content) : .blob(content)
                default: break
                }
                guard try body(index, cell) else { return }
            }
        }
    }

    package var values: [SyncValue] {
        var values: [SyncValue] = []
        values.reserveCapacity(count)
        forEach { _, cell in
            values.append(SyncValue(cell))
            return true
        }
        return values
    }

    package subscript(wanted: Int) -> SyncValue {
        var found = SyncValue.null
        forEach { index, cell in
            guard index == wanted else { return true }
            found = SyncValue(cell)
            return false
        }
        return found
    }
}

extension SyncValue {
    fileprivate init(_ cell: SyncCells.Cell) {
        switch cell {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): self = .blob(Array(bytes))
        }
    }
}
