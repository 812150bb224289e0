import Crypto
import LFSSystem
import Synchronization

/// Signs texts with a key that is derived for each day; it keeps the last one.
///
/// Source: "Create a signed AWS API request" in the IAM user guide.
final class SigningKey: Sendable {
    private let secret: SymmetricKey
    /// What is taken in behind the day.
    private let scope: [String]
    /// The code has taken in the day's key, and no text yet.
    private let held = Mutex<(day: String, code: HMAC<SHA256>)?>(nil)

    /// - Parameter scope: region, service and the end.
    init(secretAccessKey: String, prefix: String, scope: [String]) {
        secret = SymmetricKey(data: Array("\(prefix)\(secretAccessKey)".utf8))
        self.scope = scope
    }

    /// The signature of a text in lowercase hex.
    ///
    /// - Parameter day: the day of the text's date, written `20130524`.
    func signature(of text: String, on day: String) -> String {
        var (code, text) = (code(for: day), text)
        text.withUTF8 { code.update(data: UnsafeRawBufferPointer($0)) }
        return ContentHash.hex(of: code.finalize())
    }

    private func code(for day: String) -> HMAC<SHA256> {
        if let held = held.withLock({ $0 }), held.day == day { return held.code }
        let key = ([day] + scope).reduce(secret) { key, text in
            SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
        }
        let code = HMAC<SHA256>(key: key)
        held.withLock { $0 = (day, code) }
        return code
    }
}
