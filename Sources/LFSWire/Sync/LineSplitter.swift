/// Cuts JSON Lines out of pieces that end anywhere.
package struct LineSplitter: Sendable {
    /// The longest line in bytes, without its end.
    package static let limit = 1 << 20

    private var bytes: [UInt8] = []
    /// Where the first line begins that was not handed out.
    private var start = 0
    /// Where was looked for an end already.
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

    /// How many bytes wait for more.
    package var waitingCount: Int { bytes.count - start }

    /// The next line without its end, which counts within the call only. Blank lines are skipped.
    ///
    /// - Returns: false when no whole line is there.
    /// - Throws: ``WireFailure/Code/tooLarge`` for a line above the limit, and what the body throws.
    package mutating func next(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        while let end = endOfLine() {
            let line = start..<end
            (start, seen) = (end + 1, end + 1)
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

    private var tooLarge: WireFailure { WireFailure(.tooLarge, "A line has more than \(limit) bytes.") }
}
