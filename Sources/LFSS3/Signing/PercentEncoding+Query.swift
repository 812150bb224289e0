import LFSHTTPStorage

/// Queries as AWS's signatures want them; the encoding is their `UriEncode`.
///
/// Source: "Signature Calculations for the Authorization Header" in the Amazon S3 API reference.
extension PercentEncoding {
    /// One parameter of a query, not encoded.
    typealias QueryItem = (name: String, value: String)

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
}
