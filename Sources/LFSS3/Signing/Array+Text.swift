extension [UInt8] {
    /// Adds the text's UTF-8 in one piece.
    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }
}
