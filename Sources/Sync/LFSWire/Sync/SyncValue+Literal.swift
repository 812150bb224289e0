extension SyncValue {
    /// Reads a constant as SQLite writes it in the default of a column (https://sqlite.org/syntax/literal-value.html).
    ///
    /// - Parameter literal: the text after `DEFAULT`. The result is nil for any other expression, such as
    ///   `CURRENT_TIMESTAMP`, and for a number that is too large.
    package init?(literal: String) {
        let text = literal.drop { $0 == " " }
        switch text.uppercased() {
        case "NULL": self = .null
        case "TRUE": self = .integer(1)
        case "FALSE": self = .integer(0)
        default:
            if let content = Self.quoted(text) {
                self = .text(content)
            } else if let first = text.first, first == "x" || first == "X", let digits = Self.quoted(text.dropFirst()),
                let bytes = JSONScanner.bytes(ofHex: digits)
            {
                self = .blob(bytes)
            } else if let number = Self.number(text) {
                self = number
            } else {
                return nil
            }
        }
    }

    /// Returns the content of a text between apostrophes. A doubled apostrophe in it is one.
    private static func quoted(_ text: Substring) -> String? {
        guard text.utf8.count >= 2, text.first == "'", text.last == "'" else { return nil }
        let content = text.dropFirst().dropLast()
        let single = content.replacing("''", with: "").utf8
        guard !single.contains(UInt8(ascii: "'")), !single.contains(0) else { return nil }
        return String(content.replacing("''", with: "'"))
    }

    private static func number(_ text: Substring) -> SyncValue? {
        guard text.utf8.allSatisfy({ $0.isBetween("0", last: "9") || "+-.eE".utf8.contains($0) }),
            text.utf8.contains(where: { $0.isBetween("0", last: "9") })
        else { return nil }
        if let number = Int64(text) { return .integer(number) }
        guard let number = Double(String(text)), number.isFinite else { return nil }
        return .real(number)
    }
}
