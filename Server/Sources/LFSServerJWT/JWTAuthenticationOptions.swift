public import Foundation

/// Which tokens of an identity provider count.
public struct JWTAuthenticationOptions: Sendable {
    /// The provider's public keys, as JSON Web Key Set (RFC 7517). The file is read again when it has changed.
    public var keys: String
    /// `iss` of its tokens, to the letter.
    public var issuer: String
    /// What has to be in `aud`.
    public var audience: String
    /// The claim that names the account, for ever the same for the same user.
    public var accountClaim = "sub"
    /// How far the clocks of provider and server may be apart, in seconds.
    public var leeway: Double = 60
    /// What time it is.
    public var now: @Sendable () -> Date = { Date() }

    /// - Parameters:
    ///   - keys: a path.
    ///   - issuer: `iss`.
    ///   - audience: one of `aud`.
    public init(keys: String, issuer: String, audience: String) {
        (self.keys, self.issuer, self.audience) = (keys, issuer, audience)
    }
}
