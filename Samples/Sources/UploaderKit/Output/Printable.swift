/// The one place that makes text fit to be printed: names and messages come from folders, rows and servers.
package enum Printable {
    /// The text with everything escaped that moves a cursor, ends a line or turns the direction of writing.
    package static func text(_ text: some StringProtocol) -> String {
        escaping(text) { $0.escaped(asASCII: true) }
    }

    /// JSON with the same characters escaped as JSON does it (RFC 8259, section 7). They stand within strings only.
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

    /// C0, DEL and C1 (ECMA-48), the separators of lines and paragraphs, and the controls of direction (Unicode, UAX
    /// 9).
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
