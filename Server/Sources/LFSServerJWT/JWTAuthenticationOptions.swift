public import Foundation

/// The conditions for valid tokens of an identity provider.
public struct JWTAuthenticationOptions: Sendable {
    /// The path of the provider's public keys as a JSON Web Key Set (RFC 7517). A changed file is read again.
    public var keys: String
    /// The exact value of the claim `iss`.
    public var issuer: String
    /// The value that the claim `aud` must contain.
    public var audience: String
    /// The claim that contains the account's name. The name of a user must never change. The default is `sub`.
    public var accountClaim = "sub"
    /// The allowed values of `typ` in a token's header, in lowercase and without `application/` (RFC 8725, section
    /// 3.11). The default is `jwt` and `at+jwt`.
    ///
    /// A header without `typ` counts as `jwt`. If the provider's access tokens have the type `at+jwt` (RFC 9068), allow
    /// only this type. An ID token of the same audience is then refused.
    public var types: Set<String> = ["jwt", "at+jwt"]
    /// The allowed clock difference between the provider and the server, in seconds. The default is 60.
    public var leeway: Double = 60
    /// Returns the current time.
    public var now: @Sendable () -> Date = { Date() }

    /// Creates options.
    ///
    /// - Parameters:
    ///   - keys: the path of the key file.
    ///   - issuer: the value of `iss`.
    ///   - audience: a value of `aud`.
    public init(keys: String, issuer: String, audience: String) {
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
    }
}
