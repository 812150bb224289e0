package import Foundation

/// Credentials that a storage presents to its server and that may expire, such as keys or a token.
///
/// Rule: the description never shows a secret, because errors describe expired credentials.
package protocol ExpiringCredentials: Sendable, CustomStringConvertible {
    /// The time at which the credentials expire. nil if they do not expire, or if the time is unknown.
    var expiration: Date? { get }
}
