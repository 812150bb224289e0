import Crypto
import LFSSystem
import Synchronization

/// A key that signs texts. It derives a key for each day and caches the last one.
///
/// Source: "Create a signed AWS API request" in the IAM user guide.
final class SigningKey: Sendable {
    private let secret: SymmetricKey
    /// The texts that follow the day in the derivation.
    private let scope: [String]
    /// The HMAC that is initialized with the day's key and has no input yet.
    private let held = Mutex<(day: String, code: HMAC<SHA256>)?>(nil)

    /// - Parameter scope: the region, the service and the end of the scope.
    init(secretAccessKey: String, prefix: String, scope: [String]) {
        secret = SymmetricKey(data: Array("\(prefix)\(secretAccessKey)".utf8))
        self.scope = scope
    }

    /// Returns the signature of a text in lowercase hex.
    ///
    /// - Parameter day: the day of the text's date, such as `20130524`.
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
