/// A reader of the lines of a stream, which also finds out the account that owns the rows.
///
/// Most lines differ from the previous line only in the position and the row. The reader parses only these parts of
/// them.
package struct SyncLineReader: Sendable {
    /// The scope of the account's own rows. It is set by the first line that is about everything or that names no
    /// scope.
    package private(set) var own: SyncScope?

    fileprivate var last: TokenTemplate?
    /// The columns of the last row.
    private var columns: [String] = []

    /// The bytes that lines of the same type, scope and epoch have in common.
    fileprivate struct TokenTemplate {
        /// The bytes up to the position.
        let head: [UInt8]
        /// The bytes between the position and the row. The line ends after the row.
        let tail: [UInt8]
        let token: SyncToken
        let namesNoScope: Bool
    }

    /// - Parameter own: the scope of the account's own rows, or nil before a line has named it.
    package init(own: SyncScope?) { self.own = own }

    /// Reads the next line.
    ///
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) throws -> SyncLine {
        if let last, let line = try read(bytes, like: last) { return line }
        let members = try SyncLine.Members(bytes, like: columns)
        let line = try SyncLine(members, own: nil)
        own = line.ownScope ?? (members.scope == nil ? line.rowScope : nil) ?? own
        if case .row(let row, let token) = line {
            columns = row.columns
            last = TokenTemplate(of: bytes, members, token: token)
        }
        return line
    }

    /// Reads a line that is like the last one.
    ///
    /// - Returns: nil if the line differs.
    private mutating func read(_ bytes: UnsafeRawBufferPointer, like last: TokenTemplate) throws -> SyncLine? {
        let position = last.head.count..<last.head.count + SyncPosition.length
        let start = position.upperBound + last.tail.count
        guard bytes.count > start, bytes[..<position.lowerBound].elementsEqual(last.head),
            bytes[position.upperBound..<start].elementsEqual(last.tail),
            let found = SyncPosition(UnsafeRawBufferPointer(rebasing: bytes[position]))
        else { return nil }
        var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[start...]))
        let row = try SyncRow(&scanner, like: columns)
        guard scanner.isAtEnd(after: "}") else { return nil }
        columns = row.columns
        if last.namesNoScope { own = last.token.place.scope }
        return .row(row, SyncToken(last.token.place, position: found, epoch: last.token.epoch))
    }
}

extension SyncLineReader.TokenTemplate {
    /// Creates the pattern for lines that are like a given one.
    ///
    /// - Returns: nil if the line's text before the row cannot serve as a pattern.
    fileprivate init?(of line: UnsafeRawBufferPointer, _ members: SyncLine.Members, token: SyncToken) {
        guard let data = members.dataStart, data > members.tokenPlace.upperBound,
            // The token is written without escapes.
            line[members.tokenPlace].elementsEqual(token.description.utf8), token.position != .start
        else { return nil }
        let start = members.tokenPlace.upperBound - "|\(token.epoch)".utf8.count - SyncPosition.length
        head = Array(line[..<start])
        tail = Array(line[start + SyncPosition.length..<data])
        self.token = token
        namesNoScope = members.scope == nil
    }
}
