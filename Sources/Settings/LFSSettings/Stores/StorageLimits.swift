import LFSSystem

enum StorageLimits {
    /// The limits of a value, in bytes.
    static let database = 64 << 10
    static let file = 16 << 20
    /// The limit of a value in a key chain, in bytes: the size that the systems' services accept safely.
    static let keychain = 4 << 10
    /// The limit of a name in bytes.
    static let name = 100

    /// Returns true if the text is a valid key name: letters, digits, periods and dashes.
    static func isName(_ text: String) -> Bool {
        guard (1...name).contains(text.utf8.count) else { return false }
        return text.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == 0x2D || $0 == 0x2E }
    }
}
