import Crypto
import Foundation

/// A generator of bearer tokens for sessions, with 256 random bits.
enum SessionToken {
    static func make() -> String {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        return "lfss_"
            + bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns true if a text may be a token. Longer texts are not looked up.
    static func isOne(_ text: String) -> Bool { (1...256).contains(text.utf8.count) }
}
