import LFSStorage
import LFSSystem

/// Where credentials come from. It is asked again when they end, so it may hand out temporary ones.
public struct S3CredentialsProvider: Sendable {
    private let provide: @Sendable () async throws -> S3Credentials

    /// Credentials that stay as they are.
    public static func `static`(_ credentials: S3Credentials) -> S3CredentialsProvider {
        S3CredentialsProvider { credentials }
    }

    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` of this process.
    public static var environment: S3CredentialsProvider { environment(.process) }

    /// A profile of AWS's files `~/.aws/credentials` and `~/.aws/config`, or of those that
    /// `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE` name.
    ///
    /// - Parameter name: nil for the one that `AWS_PROFILE` names, or else `default`.
    public static func profile(_ name: String? = nil) -> S3CredentialsProvider { profile(name, in: .process) }

    /// The environment when it has credentials, or else the profile.
    public static var automatic: S3CredentialsProvider { automatic(.process) }

    /// Whatever a closure fetches. It may throw any error; a `StorageError` comes out as it is.
    public static func custom(
        _ provide: @escaping @Sendable () async throws -> S3Credentials
    ) -> S3CredentialsProvider {
        S3CredentialsProvider(provide: provide)
    }

    private init(provide: @escaping @Sendable () async throws -> S3Credentials) {
        self.provide = provide
    }

    /// Fetches the credentials.
    ///
    /// - Throws: ``StorageError/Code/unauthorized`` when they are missing or half there, with what to set; what
    ///   the closure of ``custom(_:)`` threw.
    package func credentials() async throws -> S3Credentials { try await provide() }

    package static func environment(_ environment: AWSEnvironment) -> S3CredentialsProvider {
        S3CredentialsProvider {
            if let credentials = try fromVariables(environment) { return credentials }
            throw StorageError(
                .unauthorized, "No credentials in the environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
        }
    }

    package static func profile(_ name: String?, in environment: AWSEnvironment) -> S3CredentialsProvider {
        S3CredentialsProvider { try await fromProfile(name, environment) }
    }

    package static func automatic(_ environment: AWSEnvironment) -> S3CredentialsProvider {
        S3CredentialsProvider {
            if let credentials = try fromVariables(environment) { return credentials }
            do {
                return try await fromProfile(nil, environment)
            } catch let error as StorageError {
                throw StorageError(
                    error.code,
                    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set in the environment. \(error.message)",
                    cause: error.cause)
            }
        }
    }

    /// nil when neither of the two keys is set.
    private static func fromVariables(_ environment: AWSEnvironment) throws(StorageError) -> S3Credentials? {
        let keyID = environment["AWS_ACCESS_KEY_ID"]
        let secret = environment["AWS_SECRET_ACCESS_KEY"]
        if keyID == nil, secret == nil { return nil }
        guard let keyID, let secret else {
            let missing = keyID == nil ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"
            throw StorageError(.unauthorized, "The environment has half of the credentials: set \(missing) too.")
        }
        return S3Credentials(
            accessKeyID: keyID, secretAccessKey: secret, sessionToken: environment["AWS_SESSION_TOKEN"])
    }

    private static func fromProfile(_ name: String?, _ environment: AWSEnvironment) async throws -> S3Credentials {
        switch try await BlockingPool.shared.run({ _ in try find(name, environment) }) {
        case .keys(let credentials): credentials
        case .login(let login): try await login.credentials()
        }
    }

    private enum Found: Sendable {
        case keys(S3Credentials)
        case login(SSOLogin)
    }

    private static func find(_ name: String?, _ environment: AWSEnvironment) throws(StorageError) -> Found {
        let profile: AWSEnvironment.Profile
        do {
            profile = try environment.profile(name)
        } catch {
            throw StorageError(.unauthorized, error.message, cause: error)
        }
        for (settings, path) in [
            (profile.credentials, environment.credentialsPath), (profile.config, environment.configPath),
        ] {
            if let credentials = try fromSettings(settings ?? [:], profile.name, path) { return .keys(credentials) }
        }
        if let login = try SSOLogin(profile, environment) { return .login(login) }
        for setting in ["credential_process", "role_arn", "web_identity_token_file"] where profile[setting] != nil {
            throw StorageError(
                .unauthorized,
                """
                The profile '\(profile.name)' gets its credentials by \(setting), which is not done here: export them \
                ('aws configure export-credentials --format env'), or use .custom.
                """)
        }
        throw StorageError(
            .unauthorized,
            "The profile '\(profile.name)' has no credentials: set aws_access_key_id and aws_secret_access_key "
                + "for it in \(environment.credentialsPath).")
    }

    /// nil when neither of the two keys is set. A pair comes from one file: AWS's tools mix none either.
    private static func fromSettings(
        _ settings: [String: String], _ profile: String, _ path: String
    ) throws(StorageError) -> S3Credentials? {
        func setting(_ name: String) -> String? { settings[name].flatMap { $0.isEmpty ? nil : $0 } }
        let keyID = setting("aws_access_key_id")
        let secret = setting("aws_secret_access_key")
        if keyID == nil, secret == nil { return nil }
        guard let keyID, let secret else {
            let missing = keyID == nil ? "aws_access_key_id" : "aws_secret_access_key"
            throw StorageError(
                .unauthorized, "The profile '\(profile)' in \(path) has half of the credentials: set \(missing) too.")
        }
        return S3Credentials(
            accessKeyID: keyID, secretAccessKey: secret, sessionToken: setting("aws_session_token"))
    }
}
