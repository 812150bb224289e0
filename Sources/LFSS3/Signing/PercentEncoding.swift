/// AWS's `UriEncode`: the UTF-8 bytes of a text, with all but the unreserved characters (RFC 3986, 2.3) as `%` and two
/// uppercase hex digits.
///
/// Source: "Signature Calculations for the Authorization Header" in the Amazon S3 API reference.
enum PercentEncoding {
    /// One parameter of a query, not encoded.
    typealias QueryItem = (name: String, value: String)

    /// A path: its slashes stay, and nothing is normalised (`//` and `..` are parts of a key).
    static func path(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, keepingSlashes: true, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The name or the value of a query parameter: slashes are encoded too.
    static func query(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, keepingSlashes: false, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A query without its `?`, in the order that the signature wants: by the encoded names, then by the encoded
    /// values.
    ///
    /// It is right as part of a request's target too. A parameter without a value is written `name=`.
    static func query(_ items: [QueryItem]) -> String {
        String(decoding: canonicalQuery(items), as: UTF8.self)
    }

    /// The same query as bytes.
    static func canonicalQuery(_ items: [QueryItem]) -> [UInt8] {
        var encoded = items.map { item in
            var name: [UInt8] = []
            var value: [UInt8] = []
            append(item.name, keepingSlashes: false, to: &name)
            append(item.value, keepingSlashes: false, to: &value)
            return (name: name, value: value)
        }
        encoded.sort { one, other in
            one.name == other.name
                ? one.value.lexicographicallyPrecedes(other.value) : one.name.lexicographicallyPrecedes(other.name)
        }
        var bytes: [UInt8] = []
        for item in encoded {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            bytes += item.name
            bytes.append(UInt8(ascii: "="))
            bytes += item.value
        }
        return bytes
    }

    /// The text that an encoded one stands for, nil when a `%` has no two hex digits or the bytes are not UTF-8.
    ///
    /// S3 writes keys of a listing with `encoding-type=url` like HTML forms do, so a `+` is a space.
    static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func append(_ text: String, keepingSlashes: Bool, to bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) || (keepingSlashes && byte == UInt8(ascii: "/")) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigit(byte >> 4))
                bytes.append(hexDigit(byte & 15))
            }
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
