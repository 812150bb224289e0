/// The size limits of names and values.
enum StorageLimits {
    /// The limit of a value in the database, in bytes.
    static let database = 64 << 10
    /// The limit of a value in a file, in bytes.
    static let file = 16 << 20
    /// The limit of a value in a key chain, in bytes: the size that the systems' services accept safely.
    static let keychain = 4 << 10
    /// The limit of a name in bytes.
    static let name = 100

    /// Returns true if the text is a valid key name: letters, digits, periods and dashes.
    static func isName(_ text: String) -> Bool {
        guard (1...name).contains(text.utf8.count) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
            default: false
            }
        }
    }
}
