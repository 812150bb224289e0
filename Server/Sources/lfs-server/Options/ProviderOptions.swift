import ArgumentParser
import LFSServerJWT

/// Whose tokens open sessions: those of the app's identity provider.
struct ProviderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The public keys of the app's identity provider, as JSON Web Key Set: with a token of it a device opens its \
            session by POST /v1/sessions. Read again when it has changed.
            """, valueName: "file"))
    var jwtKeys: String?

    @Option(help: ArgumentHelp("What 'iss' of its tokens is.", valueName: "text"))
    var jwtIssuer: String?

    @Option(help: ArgumentHelp("What has to be in 'aud' of its tokens.", valueName: "text"))
    var jwtAudience: String?

    @Option(help: ArgumentHelp("The claim that names the account, the same for ever.", valueName: "name"))
    var jwtClaim = "sub"

    @Option(
        help: ArgumentHelp(
            "How long a session lasts that was opened so; until it is revoked by default.", valueName: "days"))
    var sessionDays: Int?

    /// Whether any of them was written.
    var areGiven: Bool {
        jwtKeys != nil || jwtIssuer != nil || jwtAudience != nil || jwtClaim != "sub" || sessionDays != nil
    }

    var lifetime: Duration? { sessionDays.map { .seconds($0 * 86_400) } }

    func validate() throws {
        guard !areGiven || jwtKeys != nil && jwtIssuer?.isEmpty == false && jwtAudience?.isEmpty == false else {
            throw ValidationError(
                """
                --jwt-keys, --jwt-issuer and --jwt-audience belong together, and --jwt-claim and --session-days to \
                them.
                """)
        }
        guard sessionDays.map({ (1...36_500).contains($0) }) ?? true else {
            throw ValidationError("--session-days has to be 1 or more.")
        }
    }

    /// nil without a provider.
    func options() -> JWTAuthenticationOptions? {
        guard let jwtKeys, let jwtIssuer, let jwtAudience else { return nil }
        var options = JWTAuthenticationOptions(keys: jwtKeys, issuer: jwtIssuer, audience: jwtAudience)
        options.accountClaim = jwtClaim
        return options
    }
}
