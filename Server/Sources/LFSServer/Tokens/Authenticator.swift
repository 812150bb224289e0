public import Hummingbird

/// A type that identifies the caller of a request by a token of a file or of the host's identity provider.
///
/// A user's name must never change. It has 1 to 128 bytes without blanks.
public protocol Authenticator: Sendable {
    /// Returns the caller's name, or nil for a request without a valid token.
    ///
    /// - Throws: an error if the caller cannot be determined.
    func name(of request: Request) async throws -> String?
}

extension TokenAuthentication: Authenticator {}
