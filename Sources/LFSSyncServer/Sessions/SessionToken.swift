import Crypto
import Foundation

/// The bearer token of a session: 256 random bits.
enum SessionToken {
    static func make() -> String {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        return "lfss_"
            + bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Whether a text may be one; whatever is longer is not looked up.
    static func isOne(_ text: String) -> Bool { (1...256).contains(text.utf8.count) }
}
