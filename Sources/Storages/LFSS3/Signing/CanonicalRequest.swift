import LFSHTTP

/// The canonical text of a request, which both sides hash: "Create a canonical request" in the Amazon S3 API reference.
struct CanonicalRequest {
    /// The whole text.
    let bytes: [UInt8]
    private let nameRange: Range<Int>

    /// The names of the signed fields, in order, separated by `;`.
    var signedHeaders: ArraySlice<UInt8> { bytes[nameRange] }

    init(
        method: HTTPRequest.Method, path: String, query: [UInt8], host: String, headers: HTTPHeaders,
        payloadHash: String, signsAll: Bool = false
    ) {
        let fields = SignedFields(headers, host: host, all: signsAll)
        let newline = UInt8(ascii: "\n")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1 << 10)
        bytes.append(text: method.rawValue)
        bytes.append(newline)
        bytes.append(text: path)
        bytes.append(newline)
        bytes += query
        bytes.append(newline)
        fields.appendLines(to: &bytes)
        bytes.append(newline)
        let start = bytes.count
        fields.appendNames(to: &bytes)
        nameRange = start..<bytes.count
        bytes.append(newline)
        bytes.append(text: payloadHash)
        self.bytes = bytes
    }
}
