/// The values of a row in one block of memory. Texts are kept as the received bytes and not as strings, because nearly
/// all of them are passed on to a database unchanged.
package struct SyncCells: Sendable {
    /// The encoded values in native byte order. Each has a tag, eight bytes with its number or the length of its
    /// content, and the content.
    private var bytes: [UInt8] = []
    package private(set) var count = 0
    /// True if a text contains the character NUL, at which other code may cut it off.
    package private(set) var hasNUL = false

    /// A value in place. Its bytes are valid only during the call.
    package enum Cell {
        case null
        case integer(Int64)
        case real(Double)
        /// A text in UTF-8.
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

    /// Reserves memory.
    ///
    /// - Parameters:
    ///   - count: the expected number of values.
    ///   - byteCount: the bytes of all texts and blobs.
    package mutating func reserve(_ count: Int, byteCount: Int) {
        bytes.reserveCapacity(count * Self.headLength + byteCount)
    }

    package mutating func append(_ value: SyncValue) {
        switch value {
        case .null: append(Tag.null, number: 0)
        case .integer(let value): append(Tag.integer, number: UInt64(bitPattern: value))
        case .real(let value): append(Tag.real, number: value.bitPattern)
        case .text(let text): appendText { $0 += text.utf8 }
        case .blob(let blob):
            append(Tag.blob, number: UInt64(blob.count))
            bytes += blob
        }
    }

    /// Appends a text.
    ///
    /// - Parameter write: appends UTF-8 to the bytes and does not change the existing ones.
    package mutating func appendText<Failure>(_ write: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        let start = bytes.count
        append(Tag.text, number: 0)
        let textStart = bytes.count
        try write(&bytes)
        let count = UInt64(bytes.count - textStart)
        let hasNUL = bytes.withUnsafeMutableBytes { all in
            all.storeBytes(of: count, toByteOffset: start + 1, as: UInt64.self)
            return all[textStart...].contains(0)
        }
        if hasNUL { self.hasNUL = true }
    }

    private mutating func append(_ tag: UInt8, number: UInt64) {
        bytes.append(tag)
        withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
        count += 1
    }

    /// True if the first value is a text.
    package var startsWithText: Bool { bytes.first == Tag.text }

    /// The bytes of all texts and blobs, and a little more.
    package var byteCount: Int { bytes.count }

    /// Calls a body with the values in their order.
    ///
    /// - Parameter body: receives the index of a value and the value. It returns true to continue.
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
