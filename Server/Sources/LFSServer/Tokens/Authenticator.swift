public import Hummingbird

/// Knows who comes with a request: by tokens of a file, or by those of the host's identity provider.
///
/// The same user has the same name for ever, of 1 to 128 bytes without blanks.
public protocol Authenticator: Sendable {
    /// nil for a request without a valid token.
    ///
    /// - Throws: what keeps it from finding out.
    func name(of request: Request) async throws -> String?
}

extension TokenAuthentication: Authenticator {}
