package import LFSSystem

/// Names of up to 16 letters for files, for tests that do not depend on the form of ids.
extension FileID {
    /// Creates the id whose bytes are those of a short text.
    package init(named name: String) {
        precondition(name.utf8.count <= 16, "'\(name)' is too long for an id.")
        let digits = name.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let padded = Array(digits + String(repeating: "0", count: 32 - digits.count))
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(padded[$0]) }
        guard let id = FileID(text: parts.joined(separator: "-")) else { fatalError("\(parts) is no id.") }
        self = id
    }

    /// The short text that the id was created from.
    package var name: String {
        let digits = Array(text.utf8.filter { $0 != 0x2D }).map { $0 < 0x40 ? $0 - 0x30 : $0 - 0x57 }
        let bytes = stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
