import Crypto

extension SHA256Digest {
    /// 64 lowercase hex digits, as rows have them.
    var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
