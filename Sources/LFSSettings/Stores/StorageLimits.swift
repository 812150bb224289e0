/// How long names and values may be.
enum StorageLimits {
    /// Bytes of a value in the database.
    static let database = 64 << 10
    /// Bytes of a value in a file.
    static let file = 16 << 20
    /// Bytes of a value in a key chain: what the systems' services take safely.
    static let keychain = 4 << 10
    /// Bytes of a name.
    static let name = 100

    /// Whether the text may be the name of a key: letters, digits, points and dashes.
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
