/// Reads the lines of a stream one after the other, and notes whose rows they are.
///
/// Most lines are like the one before but for the position and the row: of these it reads nothing else.
package struct SyncLineReader: Sendable {
    /// The scope of the account's own rows, as soon as a line has told it: one that is about all, or one that names no
    /// scope.
    package private(set) var own: SyncScope?

    fileprivate var last: Likeness?
    /// Of the last row.
    private var columns: [String] = []

    /// The bytes that lines of the same type, scope and epoch have in common.
    fileprivate struct Likeness {
        /// Up to the position.
        let head: [UInt8]
        /// From there to the row, behind which the line ends.
        let tail: [UInt8]
        let token: SyncToken
        let namesNoScope: Bool
    }

    /// - Parameter own: nil before a line has told it.
    package init(own: SyncScope?) { self.own = own }

    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) throws -> SyncLine {
        if let last, let line = try read(bytes, like: last) { return line }
        let members = try SyncLine.Members(bytes, like: columns)
        let line = try SyncLine(members, nil)
        own = line.ownScope ?? (members.scope == nil ? line.rowScope : nil) ?? own
        if case .row(let row, let token) = line {
            columns = row.columns
            last = Likeness(of: bytes, members, token)
        }
        return line
    }

    /// - Returns: nil for one that is not like it.
    private mutating func read(_ bytes: UnsafeRawBufferPointer, like last: Likeness) throws -> SyncLine? {
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
        return .row(row, SyncToken(last.token.place, found, epoch: last.token.epoch))
    }
}

extension SyncLineReader.Likeness {
    /// - Returns: nil where what comes before the row tells nothing of the next line.
    fileprivate init?(of line: UnsafeRawBufferPointer, _ members: SyncLine.Members, _ token: SyncToken) {
        guard let data = members.dataStart, data > members.tokenPlace.upperBound,
            // As it is written, without escapes.
            line[members.tokenPlace].elementsEqual(token.description.utf8), token.position != .start
        else { return nil }
        let start = members.tokenPlace.upperBound - "|\(token.epoch)".utf8.count - SyncPosition.length
        (head, tail) = (Array(line[..<start]), Array(line[start + SyncPosition.length..<data]))
        (self.token, namesNoScope) = (token, members.scope == nil)
    }
}
