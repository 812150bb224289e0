import LFSStorage
import LFSSystem

/// The source of credentials. It is asked again when they expire, so it may return temporary credentials.
public struct S3CredentialsProvider: Sendable {
    private let provide: @Sendable () async throws -> S3Credentials

    /// Returns fixed credentials.
    public static func `static`(_ credentials: S3Credentials) -> S3CredentialsProvider {
        S3CredentialsProvider { credentials }
    }

    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` of this process.
    public static var environment: S3CredentialsProvider { environment(.process) }

    /// Reads a profile of AWS's files `~/.aws/credentials` and `~/.aws/config`. `AWS_SHARED_CREDENTIALS_FILE` and
    /// `AWS_CONFIG_FILE` name other files.
    ///
    /// - Parameter name: the name of the profile. nil uses `AWS_PROFILE`, and otherwise `default`.
    public static func profile(_ name: String? = nil) -> S3CredentialsProvider { profile(name, in: .process) }

    /// Reads the environment, or the profile if the environment has no credentials.
    public static var automatic: S3CredentialsProvider { automatic(.process) }

    /// Calls a closure for the credentials. It may throw any error, and a `StorageError` is rethrown unchanged.
    public static func custom(
        _ provide: @escaping @Sendable () async throws -> S3Credentials
    ) -> S3CredentialsProvider {
        S3CredentialsProvider(provide: provide)
    }

    private init(provide: @escaping @Sendable () async throws -> S3Credentials) {
        self.provide = provide
    }

    /// Returns the credentials.
    ///
    /// - Throws: ``StorageError/Code/unauthorized`` when they are missing or incomplete, with advice, or the error of
    ///   the closure of ``custom(_:)``.
    package func credentials() async throws -> S3Credentials { try await provide() }

    package static func environment(_ environment: AWSEnvironment) -> S3CredentialsProvider {
        S3CredentialsProvider {
            if let credentials = try fromVariables(environment) { return credentials }
            throw StorageError(
                .unauthorized,
                message: "No credentials in the environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
        }
    }

    package static func profile(_ name: String?, in environment: AWSEnvironment) -> S3CredentialsProvider {
        S3CredentialsProvider { try await fromProfile(name, environment: environment) }
    }

    package static func automatic(_ environment: AWSEnvironment) -> S3CredentialsProvider {
        S3CredentialsProvider {
            if let credentials = try fromVariables(environment) { return credentials }
            do {
                return try await fromProfile(nil, environment: environment)
            } catch let error as StorageError {
                throw StorageError(
                    error.code,
                    message:
                        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set in the environment. \(error.message)",
                    cause: error.cause)
            }
        }
    }

    /// Returns nil if neither of the two keys is set.
    private static func fromVariables(_ environment: AWSEnvironment) throws(StorageError) -> S3Credentials? {
        let keyID = environment["AWS_ACCESS_KEY_ID"]
        let secret = environment["AWS_SECRET_ACCESS_KEY"]
        if keyID == nil, secret == nil { return nil }
        guard let keyID, let secret else {
            let missing = keyID == nil ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"
            throw StorageError(
                .unauthorized, message: "The environment has only half of the credentials: set \(missing) too.")
        }
        return S3Credentials(
            accessKeyID: keyID, secretAccessKey: secret, sessionToken: environment["AWS_SESSION_TOKEN"])
    }

    private static func fromProfile(_ name: String?, environment: AWSEnvironment) async throws -> S3Credentials {
        switch try await BlockingPool.shared.run({ _ in try find(name, environment: environment) }) {
        case .keys(let credentials): credentials
        case .login(let login): try await login.credentials()
        }
    }

    private enum Lookup: Sendable {
        case keys(S3Credentials)
        case login(SSOLogin)
    }

    private static func find(_ name: String?, environment: AWSEnvironment) throws(StorageError) -> Lookup {
        let profile: AWSEnvironment.Profile
        do {
            profile = try environment.profile(name)
        } catch {
            throw StorageError(.unauthorized, message: error.message, cause: error)
        }
        for (settings, path) in [
            (profile.credentials, environment.credentialsPath), (profile.config, environment.configPath),
        ] {
            if let credentials = try fromSettings(settings ?? [:], profile: profile.name, path: path) {
                return .keys(credentials)
            }
        }
        if let login = try SSOLogin(profile, environment: environment) { return .login(login) }
        for setting in ["credential_process", "role_arn", "web_identity_token_file"] where profile[setting] != nil {
            throw StorageError(
                .unauthorized,
                message: """
                    The profile '\(profile.name)' gets its credentials by \(setting), which LFS does not support: \
                    export them ('aws configure export-credentials --format env'), or use .custom.
                    """)
        }
        throw StorageError(
            .unauthorized,
            message:
                "The profile '\(profile.name)' has no credentials: set aws_access_key_id and aws_secret_access_key "
                + "for it in \(environment.credentialsPath).")
    }

    /// Returns nil if neither of the two keys is set. As in AWS's tools, both keys must come from the same file.
    private static func fromSettings(
        _ settings: [String: String], profile: String, path: String
    ) throws(StorageError) -> S3Credentials? {
        func setting(_ name: String) -> String? { settings[name].flatMap { $0.isEmpty ? nil : $0 } }
        let keyID = setting("aws_access_key_id")
        let secret = setting("aws_secret_access_key")
        if keyID == nil, secret == nil { return nil }
        guard let keyID, let secret else {
            let missing = keyID == nil ? "aws_access_key_id" : "aws_secret_access_key"
            throw StorageError(
                .unauthorized,
                message: "The profile '\(profile)' in \(path) has only half of the credentials: set \(missing) too.")
        }
        return S3Credentials(
            accessKeyID: keyID, secretAccessKey: secret, sessionToken: setting("aws_session_token"))
    }
}
