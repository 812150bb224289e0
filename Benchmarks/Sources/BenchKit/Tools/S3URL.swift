/// URLs in path style, in which the bucket is the first part of the path.
enum S3URL {
    static func text(_ server: S3Server, key: String? = nil) -> String {
        "\(server.endpoint)/\(server.bucket)\(key.map { "/" + encode($0, keeping: "/") } ?? "")"
    }

    /// Percent-encodes all characters that RFC 3986 does not call unreserved, except the ones to keep.
    static func encode(_ text: String, keeping kept: String) -> String {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8).union(kept.utf8)
        return text.utf8.map { byte in
            if plain.contains(byte) { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }.joined()
    }
}
