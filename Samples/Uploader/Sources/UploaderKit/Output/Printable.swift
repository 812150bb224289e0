/// The only type that escapes text for output. Names and messages come from folders, rows and servers.
package enum Printable {
    /// Returns the text with escapes for everything that moves a cursor, ends a line or changes the writing direction.
    package static func text(_ text: some StringProtocol) -> String {
        escaping(text) { $0.escaped(asASCII: true) }
    }

    /// Returns a name in its printed form. It has the escapes of ``text(_:)``, a backslash as `\\`, and invalid bytes
    /// as `\xFF`. Different names always look different, and each can be typed as it is shown.
    package static func name(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !text.unicodeScalars.contains(where: isEscapedInNames) {
            return text
        }
        var (result, rest) = ("", bytes[...])
        while let first = rest.first {
            let scalar = (1...4).lazy.filter { [rest] in $0 <= rest.count }
                .compactMap { [rest] in String(validating: rest.prefix($0), as: UTF8.self)?.unicodeScalars.first }.first
            guard let scalar else {
                result += "\\x" + String(first, radix: 16, uppercase: true)
                rest = rest.dropFirst()
                continue
            }
            if isEscapedInNames(scalar) {
                result += scalar.escaped(asASCII: true)
            } else {
                result.unicodeScalars.append(scalar)
            }
            rest = rest.dropFirst(UTF8.width(scalar))
        }
        return result
    }

    /// Returns the name with this printed form. Nil if no name has it, and if the name is equal to the text.
    package static func name(printedAs text: String) -> [UInt8]? {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return nil }
        let form = /\\(?:([\\nrt0])|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2}))/
        let plain: [Substring: UInt8] = ["\\": 0x5C, "n": 0x0A, "r": 0x0D, "t": 0x09, "0": 0]
        var (bytes, rest): ([UInt8], Substring) = ([], text[...])
        while let start = rest.utf8.firstIndex(of: UInt8(ascii: "\\")) {
            bytes += rest[..<start].utf8
            guard let match = rest[start...].prefixMatch(of: form) else { return nil }
            if let byte = match.1.flatMap({ plain[$0] }) ?? match.3.flatMap({ UInt8($0, radix: 16) }) {
                bytes.append(byte)
            } else if let value = match.2.flatMap({ UInt32($0, radix: 16) }), let scalar = Unicode.Scalar(value) {
                bytes += String(scalar).utf8
            } else {
                return nil
            }
            rest = rest[match.range.upperBound...]
        }
        return bytes + rest.utf8
    }

    private static func isEscapedInNames(_ scalar: Unicode.Scalar) -> Bool { isUnsafe(scalar) || scalar == "\\" }

    /// Returns JSON with the same characters escaped in JSON syntax (RFC 8259, section 7). They only occur within
    /// strings.
    package static func json(_ text: String) -> String {
        escaping(text) { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits
        }
    }

    private static func escaping(_ text: some StringProtocol, _ escape: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return String(text) }
        var result = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                result += escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns true for C0, DEL and C1 (ECMA-48), line and paragraph separators, and controls of the writing direction
    /// (Unicode, UAX 9).
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
