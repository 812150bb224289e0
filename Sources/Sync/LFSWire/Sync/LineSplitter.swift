/// A splitter that extracts JSON Lines from pieces of any length.
package struct LineSplitter: Sendable {
    /// The maximum length of a line in bytes, without its line ending.
    package static let limit = 1 << 20

    private var bytes: [UInt8] = []
    /// The start of the first line that was not returned yet.
    private var start = 0
    /// The position up to which no line ending was found.
    private var seen = 0
    private let limit: Int

    package init(limit: Int = Self.limit) { self.limit = limit }

    package mutating func append(_ piece: UnsafeRawBufferPointer) {
        if start > 0 {
            bytes.removeFirst(start)
            seen -= start
            start = 0
        }
        bytes.append(contentsOf: piece)
    }

    /// The number of bytes that wait for the rest of their line.
    package var waitingCount: Int { bytes.count - start }

    /// Passes the next line to a body, without its line ending. The bytes are valid only during the call. Blank lines
    /// are skipped.
    ///
    /// - Returns: false if no complete line is available.
    /// - Throws: ``WireFailure/Code/tooLarge`` for a line above the limit, and errors of the body.
    package mutating func next(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        while let end = endOfLine() {
            let line = start..<end
            start = end + 1
            seen = end + 1
            let isCut = line.count > 0 && bytes[line.upperBound - 1] == UInt8(ascii: "\r")
            let text = isCut ? line.lowerBound..<line.upperBound - 1 : line
            guard text.count <= limit else { throw tooLarge }
            if text.isEmpty { continue }
            try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[text])) }
            return true
        }
        guard waitingCount <= limit + 1 else { throw tooLarge }
        return false
    }

    private mutating func endOfLine() -> Int? {
        let end = bytes.withUnsafeBytes { all in
            all[seen...].firstIndex(of: UInt8(ascii: "\n"))
        }
        seen = end ?? bytes.count
        return end
    }

    private var tooLarge: WireFailure { WireFailure(.tooLarge, message: "A line has more than \(limit) bytes.") }
}
