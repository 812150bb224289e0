import LFSHTTPStorage

extension PercentEncoding {
    /// Decodes a text. Returns nil if two hex digits do not follow a `%`, or if the bytes are not UTF-8.
    ///
    /// With `encoding-type=url`, S3 encodes the keys of a listing like HTML forms do, so a `+` is a space.
    static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hex.value), let low = rest.popFirst().flatMap(Hex.value) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
