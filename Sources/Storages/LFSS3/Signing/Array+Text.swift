extension [UInt8] {
    /// Appends the text's UTF-8 bytes at once.
    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }
}
