package import Foundation

/// What a storage shows its server to be let in, and what may end: keys, a token.
///
/// Rule: no description of it shows a secret, since errors name credentials that have ended.
package protocol ExpiringCredentials: Sendable, CustomStringConvertible {
    /// When they end; nil when they do not, or when nobody knows.
    var expiration: Date? { get }
}
