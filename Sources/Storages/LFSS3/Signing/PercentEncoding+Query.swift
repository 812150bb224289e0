import LFSHTTPStorage

/// The query encoding of AWS signatures, called `UriEncode`.
///
/// Source: "Signature Calculations for the Authorization Header" in the Amazon S3 API reference.
extension PercentEncoding {
    /// A query parameter, not encoded.
    typealias QueryItem = (name: String, value: String)

    /// Returns a query without its `?`, sorted by encoded name and then by encoded value, as the signature requires.
    ///
    /// It is also valid in the target of a request. A parameter without a value is written as `name=`.
    static func query(_ items: [QueryItem]) -> String {
        String(decoding: canonicalQuery(items), as: UTF8.self)
    }

    /// Returns the same query as bytes.
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
}
