public import Foundation
public import Hummingbird

/// A type that identifies the caller of a request by a token of a file or of the host's identity provider.
///
/// A user's name must never change. It has 1 to 128 bytes without blanks.
public protocol Authenticator: Sendable {
    /// Returns the caller's name, or nil for a request without a valid token.
    ///
    /// - Throws: an error if the caller cannot be determined.
    func name(of request: Request) async throws -> String?

    /// Returns the time at which the caller's token expires, or nil if it does not. The request has a valid token.
    ///
    /// - Throws: an error if the time cannot be determined.
    func expiry(of request: Request) async throws -> Date?
}

extension Authenticator {
    /// Returns nil, for tokens that do not expire.
    public func expiry(of request: Request) async throws -> Date? { nil }
}

extension TokenAuthentication: Authenticator {}
