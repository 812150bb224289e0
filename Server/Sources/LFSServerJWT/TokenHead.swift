import Foundation

/// The fields of a token's header that can require the server to refuse the token.
struct TokenHead {
    /// True if the header has `crit` or `b64`. A reader must support the extensions in `crit` (RFC 7515, section
    /// 4.1.11), and this reader supports none. `b64` is such an extension (RFC 7797).
    private let isCritical: Bool
    /// The `typ` in lowercase, `jwt` if the header has none, or nil if it is not a string.
    private let type: String?

    /// Reads the header. Returns nil if it is not a JSON object in base64url.
    init?(of token: String) {
        let text = String(token.prefix { $0 != "." })
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let data = Data(base64Encoded: base64),
            let fields = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { return nil }
        isCritical = fields["crit"] != nil || fields["b64"] != nil
        type = fields["typ"] == nil ? "jwt" : (fields["typ"] as? String)?.lowercased()
    }

    /// Returns true if the header has no critical extensions and an allowed type.
    func isUnderstood(_ options: JWTAuthenticationOptions) -> Bool {
        guard !isCritical, let type else { return false }
        let prefix = "application/"
        return options.types.contains(type.hasPrefix(prefix) ? String(type.dropFirst(prefix.count)) : type)
    }
}
