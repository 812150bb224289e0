package import Foundation
package import LFSHTTP
import LFSSystem

/// How long a server asks to be left alone: the `Retry-After` field, in seconds or as a date (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// More than a day makes no sense, and is taken for a day. How much of it is granted is for who retries to say.
    package static let limit = Duration.seconds(86_400)

    /// The time to wait, at most ``limit``; nil when there is no such field, or when it makes no sense.
    package static func parse(_ headers: HTTPHeaders, now: Date) -> Duration? {
        headers["retry-after"].flatMap { parse($0, now: now) }
    }

    package static func parse(_ field: String, now: Date) -> Duration? {
        var text = field[...]
        while text.utf8.first == UInt8(ascii: " ") { text.removeFirst() }
        while text.utf8.last == UInt8(ascii: " ") { text.removeLast() }
        if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
            // More digits than a number has room for are more than the limit too.
            return Int32(text).map { min(.seconds($0), limit) } ?? limit
        }
        guard let date = HTTPDate.parse(String(text), now: now) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return seconds < 0 ? nil : min(.seconds(seconds), limit)
    }
}
