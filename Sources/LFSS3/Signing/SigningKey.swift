import Crypto
import LFSSystem
import Synchronization

/// Signs texts with a key that is derived for each day; it keeps the last one.
///
/// Source: "Create a signed AWS API request" in the IAM user guide.
final class SigningKey: Sendable {
    private let secret: SymmetricKey
    private let region: String
    private let service: String
    private let held = Mutex<(day: String, key: SymmetricKey)?>(nil)

    init(secretAccessKey: String, region: String, service: String) {
        secret = SymmetricKey(data: Array("AWS4\(secretAccessKey)".utf8))
        self.region = region
        self.service = service
    }

    /// The signature of a text in lowercase hex.
    ///
    /// - Parameter day: the day of the text's date, written `20130524`.
    func signature(of text: String, on day: String) -> String {
        ContentHash.hex(of: HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key(for: day)))
    }

    private func key(for day: String) -> SymmetricKey {
        if let held = held.withLock({ $0 }), held.day == day { return held.key }
        let key = [day, region, service, "aws4_request"].reduce(secret) { key, text in
            SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
        }
        held.withLock { $0 = (day, key) }
        return key
    }
}
