import LFSHTTP

/// The text of a request that both sides hash: "Create a canonical request" in the Amazon S3 API reference.
struct CanonicalRequest {
    /// The whole text.
    let bytes: [UInt8]
    /// The names of the signed fields, in order, with `;` between them.
    let signedHeaders: [UInt8]

    init(
        method: HTTPRequest.Method, path: String, query: [UInt8], host: String, headers: HTTPHeaders,
        payloadHash: String
    ) {
        let fields = Self.signedHeaders(headers, host: host)
        let newline = UInt8(ascii: "\n")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + path.utf8.count + query.count + fields.lines.count + fields.names.count)
        bytes += method.rawValue.utf8
        bytes.append(newline)
        bytes += path.utf8
        bytes.append(newline)
        bytes += query
        bytes.append(newline)
        bytes += fields.lines
        bytes.append(newline)
        bytes += fields.names
        bytes.append(newline)
        bytes += payloadHash.utf8
        self.bytes = bytes
        signedHeaders = fields.names
    }

    /// The names of the fields that are signed, and their lines as they are signed.
    static func signedHeaders(_ headers: HTTPHeaders, host: String) -> (names: [UInt8], lines: [UInt8]) {
        var fields: [(name: [UInt8], value: [UInt8])] = []
        fields.reserveCapacity(headers.fields.count + 1)
        var hasHost = false
        for field in headers.fields {
            let name = lowercased(field.name)
            guard isSigned(name) else { continue }
            let value = collapsed(field.value)
            if name == hostName { hasHost = true }
            if let index = fields.firstIndex(where: { $0.name == name }) {
                fields[index].value += [UInt8(ascii: ",")] + value
            } else {
                fields.append((name, value))
            }
        }
        if !hasHost { fields.append((hostName, Array(host.utf8))) }
        fields.sort { $0.name.lexicographicallyPrecedes($1.name) }
        var names: [UInt8] = []
        var lines: [UInt8] = []
        for field in fields {
            if !names.isEmpty { names.append(UInt8(ascii: ";")) }
            names += field.name
            lines += field.name
            lines.append(UInt8(ascii: ":"))
            lines += field.value
            lines.append(UInt8(ascii: "\n"))
        }
        return (names, lines)
    }

    private static let hostName = Array("host".utf8)
    private static let others = ["host", "content-type", "content-md5", "date", "range"].map { Array($0.utf8) }
    private static let prefixes = ["x-amz-", "if-"].map { Array($0.utf8) }

    private static func isSigned(_ name: [UInt8]) -> Bool {
        prefixes.contains { name.starts(with: $0) } || others.contains(name)
    }

    private static func lowercased(_ text: String) -> [UInt8] {
        text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }

    /// The value without blanks around it, and with one space for each run of spaces.
    private static func collapsed(_ text: String) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isBlank(byte), value.isEmpty || (byte == UInt8(ascii: " ") && value.last == byte) { continue }
            value.append(byte)
        }
        while let last = value.last, isBlank(last) { value.removeLast() }
        return value
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
