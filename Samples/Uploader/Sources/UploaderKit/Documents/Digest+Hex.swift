import Crypto

extension SHA256Digest {
    /// The digest as 64 lowercase hexadecimal digits, as in the rows.
    var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
