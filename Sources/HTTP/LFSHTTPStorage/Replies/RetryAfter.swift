package import Foundation
package import LFSHTTP
import LFSSystem

/// The delay that a server requests in the `Retry-After` field, in seconds or as a date (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// The longest accepted delay. A longer one is cut to a day, and the caller that retries decides how much of it to
    /// grant.
    package static let limit = Duration.seconds(86_400)

    /// Returns the delay, at most ``limit``. nil if the field is missing or invalid.
    package static func parse(_ headers: HTTPHeaders, now: Date) -> Duration? {
        headers["retry-after"].flatMap { parse($0, now: now) }
    }

    package static func parse(_ field: String, now: Date) -> Duration? {
        var text = field[...]
        while text.utf8.first == UInt8(ascii: " ") { text.removeFirst() }
        while text.utf8.last == UInt8(ascii: " ") { text.removeLast() }
        if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
            // A number with too many digits for Int32 is above the limit too.
            return Int32(text).map { min(.seconds($0), limit) } ?? limit
        }
        guard let date = HTTPDate.parse(String(text), now: now) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return seconds < 0 ? nil : min(.seconds(seconds), limit)
    }
}
