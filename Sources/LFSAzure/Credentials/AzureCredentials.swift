public import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// What Azure is shown to be let in: an account's key, a signature, or a token of Microsoft's identity platform.
///
/// No description of it shows a secret. Tokens need a role on the container, such as Storage Blob Data Contributor.
public struct AzureCredentials: Sendable {
    private let provide: @Sendable (LoginContext) async throws -> AzureLogin

    init(_ provide: @escaping @Sendable (LoginContext) async throws -> AzureLogin) {
        self.provide = provide
    }

    func login(_ context: LoginContext) async throws -> AzureLogin { try await provide(context) }

    /// One of the account's two keys, in base64 as the portal shows it. It may do everything with the whole account.
    public static func sharedKey(_ key: String) -> AzureCredentials {
        AzureCredentials { _ in AzureLogin(kind: .key(key)) }
    }

    /// A shared access signature that a closure fetches: the query of a URL, with `sv=` and `sig=`. It is asked again
    /// before the signature ends, and when it is refused. It may throw any error; a `StorageError` comes out as it is.
    ///
    /// Uploads need the permissions read, write, create, delete and list on the container.
    public static func sas(_ signature: @escaping @Sendable () async throws -> String) -> AzureCredentials {
        AzureCredentials { _ in try .signature(await signature()) }
    }

    /// A token that a closure fetches, and when it ends, if that is known. It is asked again before that, and when the
    /// token is refused. It may throw any error; a `StorageError` comes out as it is.
    public static func token(
        _ token: @escaping @Sendable () async throws -> (token: String, expiration: Date?)
    ) -> AzureCredentials {
        AzureCredentials { _ in
            let (token, expiration) = try await token()
            return try .token(token, expiration: expiration)
        }
    }

    /// An app that is registered with the identity platform, and its secret.
    ///
    /// - Parameters:
    ///   - tenant: the directory's id or domain.
    ///   - client: the app's id.
    ///   - secret: one of the app's secrets.
    ///   - authority: nil for `https://login.microsoftonline.com`.
    public static func clientSecret(
        tenant: String, client: String, secret: String, authority: URL? = nil
    ) -> AzureCredentials {
        AzureCredentials { context in
            try await context.tokens.token(
                authority: authority, tenant: tenant, client: client,
                proof: [("client_secret", secret)])
        }
    }

    /// An app that is registered with the identity platform, and the token of another authority in a file, as
    /// Kubernetes gives it. The file is read each time, since it is renewed.
    ///
    /// - Parameters:
    ///   - tenant: the directory's id or domain.
    ///   - client: the app's id.
    ///   - tokenFile: the path of the file.
    ///   - authority: nil for `https://login.microsoftonline.com`.
    public static func workloadIdentity(
        tenant: String, client: String, tokenFile: String, authority: URL? = nil
    ) -> AzureCredentials {
        AzureCredentials { context in
            let assertion = try await BlockingPool.shared.run { _ in try Self.text(of: tokenFile) }
            return try await context.tokens.token(
                authority: authority, tenant: tenant, client: client,
                proof: [
                    ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                    ("client_assertion", assertion),
                ])
        }
    }

    /// The identity of the machine, the function or the container that this runs on.
    ///
    /// - Parameters:
    ///   - client: which one, where there are several; nil for the machine's own.
    ///   - service: who gives the tokens; nil for what `IDENTITY_ENDPOINT` and `IDENTITY_HEADER` of this process say,
    ///     or else the address that virtual machines have.
    public static func managedIdentity(client: String? = nil, service: URL? = nil) -> AzureCredentials {
        managedIdentity(client: client, service: service, .process)
    }

    static func managedIdentity(
        client: String?, service: URL?, _ environment: AzureEnvironment
    ) -> AzureCredentials {
        AzureCredentials { context in
            if let service {
                return try await context.tokens.managedToken(service: service, secret: nil, client: client)
            }
            let secret = environment["IDENTITY_HEADER"]
            let own = secret == nil ? nil : environment["IDENTITY_ENDPOINT"].flatMap { URL(string: $0) }
            return try await context.tokens.managedToken(
                service: own, secret: own == nil ? nil : secret, client: client)
        }
    }

    /// The account's key or the signature of a connection string; its account has to be the storage's.
    public static func connectionString(_ text: String) -> AzureCredentials {
        AzureCredentials { context in
            let string = try ConnectionString(text)
            guard string.account == context.account else {
                throw StorageError(
                    .unauthorized,
                    "The connection string is for the account '\(string.account)', not for '\(context.account)'.")
            }
            if let signature = string.signature { return try .signature(signature) }
            return AzureLogin(kind: .key(string.key ?? ""))
        }
    }

    /// What the environment of this process has, the first of: `AZURE_STORAGE_CONNECTION_STRING`, `AZURE_STORAGE_KEY`,
    /// `AZURE_STORAGE_SAS_TOKEN`; `AZURE_TENANT_ID` and `AZURE_CLIENT_ID` with `AZURE_CLIENT_SECRET` or
    /// `AZURE_FEDERATED_TOKEN_FILE`; a managed identity where `IDENTITY_ENDPOINT` is set.
    public static var environment: AzureCredentials { environment(.process) }

    static func environment(_ environment: AzureEnvironment) -> AzureCredentials {
        AzureCredentials { try await environment.credentials(for: $0.account).login($0) }
    }

    private static func text(of path: String) throws -> String {
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            let data = try handle.read(upToCount: 64 << 10) ?? Data()
            return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        } catch {
            throw StorageError(
                .unauthorized, "The file with the federated token, \(path), cannot be read.", cause: error)
        }
    }
}

extension AzureCredentials: CustomStringConvertible, CustomReflectable {
    /// Nothing but what it is.
    public var description: String { "credentials for Azure" }

    /// Nothing inside shows.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
