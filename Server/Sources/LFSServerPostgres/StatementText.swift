/// The translation of statements for PostgreSQL, whose arguments are `$1` instead of `?1`.
enum StatementText {
    /// Translates the arguments. Strings, quoted names and comments stay unchanged.
    static func translated(_ sql: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sql.utf8.count)
        var end: [UInt8] = []  // of the text, name or comment that this is in
        let source = Array(sql.utf8)
        var index = 0
        while index < source.count {
            let byte = source[index]
            if end.isEmpty, let quote = quotes.first(where: { source[index...].starts(with: $0.begin) }) {
                bytes += quote.begin
                index += quote.begin.count
                end = quote.end
            } else if end.isEmpty {
                let isArgument = index + 1 < source.count && (0x30...0x39).contains(source[index + 1])
                bytes.append(byte == UInt8(ascii: "?") && isArgument ? UInt8(ascii: "$") : byte)
                index += 1
            } else if source[index...].starts(with: end) {
                bytes += end
                index += end.count
                end = []
            } else {
                bytes.append(byte)
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let quotes = [("'", "'"), ("\"", "\""), ("--", "\n"), ("/*", "*/"), ("$$", "$$")].map { quote in
        (begin: Array(quote.0.utf8), end: Array(quote.1.utf8))
    }
}
