import Mustache

/// A content type that escapes the text of templates, scalar by scalar.
///
/// The content type of the template package compares whole characters, and `"` followed by a combining mark is another
/// character than `"`: a comment could end an attribute with it.
struct SafeHTML: MustacheContentType {
    static let name = "SAFE"

    func escapeText(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped.append(contentsOf: "&lt;".unicodeScalars)
            case ">": escaped.append(contentsOf: "&gt;".unicodeScalars)
            case "&": escaped.append(contentsOf: "&amp;".unicodeScalars)
            case "\"": escaped.append(contentsOf: "&quot;".unicodeScalars)
            case "'": escaped.append(contentsOf: "&#39;".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
