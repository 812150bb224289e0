import LFSHTTP

/// The header fields that a signature covers, ordered by name.
struct SignedFields {
    /// The fields with lowercase names. Fields with the same name keep the order of the request.
    private var fields: [(name: String, value: String)] = []

    /// - Parameter all: true to sign every field, including `content-length`, for a request that another client sends.
    init(_ headers: HTTPHeaders, host: String, all: Bool = false) {
        fields.reserveCapacity(headers.fields.count + 1)
        for field in headers.fields {
            let name = Self.lowercased(field.name)
            if all || Self.isSigned(name) { insert(name, value: field.value) }
        }
        if headers["host"] == nil { insert("host", value: host) }
    }

    /// Appends the names, separated by `;`.
    func appendNames(to bytes: inout [UInt8]) {
        var last = ""
        for field in fields where field.name != last {
            if !last.isEmpty { bytes.append(UInt8(ascii: ";")) }
            bytes.append(text: field.name)
            last = field.name
        }
    }

    /// Appends one line per name. The values of fields with the same name share a line, separated by `,`.
    func appendLines(to bytes: inout [UInt8]) {
        var last = ""
        for field in fields {
            if field.name == last {
                bytes[bytes.count - 1] = UInt8(ascii: ",")
            } else {
                bytes.append(text: field.name)
                bytes.append(UInt8(ascii: ":"))
                last = field.name
            }
            Self.appendCollapsed(field.value, to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    /// Inserts in order. There are few fields, and most of them are already sorted.
    private mutating func insert(_ name: String, value: String) {
        var index = fields.endIndex
        while index > 0, name < fields[index - 1].name { index -= 1 }
        fields.insert((name, value), at: index)
    }

    private static func isSigned(_ name: String) -> Bool {
        // Almost all fields have the first prefix.
        name.hasPrefix("x-amz-") || name.hasPrefix("if-") || name.hasPrefix("x-goog-")
            || ["host", "content-type", "content-md5", "date", "range"].contains(name)
    }

    /// Converts a name to lowercase. Names are ASCII, and almost all are already lowercase.
    private static func lowercased(_ name: String) -> String {
        var text = name
        let hasCapital = text.withUTF8 { $0.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } }
        return hasCapital ? name.lowercased() : name
    }

    /// Appends the value without surrounding whitespace, and with one space for each run of spaces.
    private static func appendCollapsed(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { value in
            // Most values have no whitespace.
            guard value.contains(where: isBlank) else { return bytes.append(contentsOf: value) }
            let start = bytes.count
            for byte in value {
                if isBlank(byte), bytes.count == start || (byte == UInt8(ascii: " ") && bytes.last == byte) { continue }
                bytes.append(byte)
            }
            while bytes.count > start, let last = bytes.last, isBlank(last) { bytes.removeLast() }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
