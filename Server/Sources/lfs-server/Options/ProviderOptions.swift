import ArgumentParser
import CommandLineOptions
import LFSServerJWT

/// The options of the app's identity provider, whose tokens open sessions.
struct ProviderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The public keys of the app's identity provider, a JSON Web Key Set. A device opens its session with a \
            token of the provider by POST /v1/sessions. The server reads the file again after a change.
            """, valueName: "file"))
    var jwtKeys: String?

    @Option(help: ArgumentHelp("The required issuer, 'iss', of the provider's tokens.", valueName: "text"))
    var jwtIssuer: String?

    @Option(help: ArgumentHelp("The required audience, 'aud', of the provider's tokens.", valueName: "text"))
    var jwtAudience: String?

    @Option(help: ArgumentHelp("The claim that names the account. Its value must never change.", valueName: "name"))
    var jwtClaim = "sub"

    @Option(
        help: ArgumentHelp(
            "The maximum lifetime of these sessions, however often they are used.", valueName: "time"),
        transform: TimeSpan.parseFinite)
    var sessionLifetime: TimeSpan?

    @Option(
        help: ArgumentHelp(
            """
            The maximum lifetime of these sessions after the expiry of the provider's token. A device extends its \
            session with a newer token.
            """, valueName: "time"),
        transform: TimeSpan.parseFinite)
    var sessionAfterToken: TimeSpan?

    /// Indicates that at least one of the options is given.
    var isGiven: Bool {
        jwtKeys != nil || jwtIssuer != nil || jwtAudience != nil || jwtClaim != "sub" || sessionLifetime != nil
            || sessionAfterToken != nil
    }

    var lifetime: Duration? { sessionLifetime?.duration }

    var lifetimeAfterToken: Duration? { sessionAfterToken?.duration }

    func validate() throws {
        guard !isGiven || jwtKeys != nil && jwtIssuer?.isEmpty == false && jwtAudience?.isEmpty == false else {
            throw ValidationError(
                """
                --jwt-keys, --jwt-issuer and --jwt-audience belong together, and --jwt-claim, --session-lifetime and \
                --session-after-token need them.
                """)
        }
        guard sessionLifetime.map({ $0.seconds >= 60 }) ?? true else {
            throw ValidationError("--session-lifetime has to be at least 1m.")
        }
    }

    /// Returns the options, or nil without a provider.
    func options() -> JWTAuthenticationOptions? {
        guard let jwtKeys, let jwtIssuer, let jwtAudience else { return nil }
        var options = JWTAuthenticationOptions(keys: jwtKeys, issuer: jwtIssuer, audience: jwtAudience)
        options.accountClaim = jwtClaim
        return options
    }
}
