public import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The credentials for Azure: an account's key, a shared access signature, or a token of Microsoft's identity platform.
///
/// Their descriptions never show a secret. Tokens need a role on the container, such as Storage Blob Data Contributor.
public struct AzureCredentials: Sendable {
    private let provide: @Sendable (LoginContext) async throws -> AzureLogin

    init(_ provide: @escaping @Sendable (LoginContext) async throws -> AzureLogin) {
        self.provide = provide
    }

    func login(_ context: LoginContext) async throws -> AzureLogin { try await provide(context) }

    /// Uses either of the account's two keys, in base64 as the portal shows it. It gives full access to the account.
    public static func sharedKey(_ key: String) -> AzureCredentials {
        AzureCredentials { _ in AzureLogin(kind: .key(key)) }
    }

    /// Uses a shared access signature from a closure: the query of a URL, with `sv=` and `sig=`.
    ///
    /// The closure is called again before the signature expires, and when it is refused. It may throw any error, and a
    /// `StorageError` is rethrown unchanged.
    ///
    /// Uploads need the permissions read, write, create, delete and list on the container.
    public static func sas(_ signature: @escaping @Sendable () async throws -> String) -> AzureCredentials {
        AzureCredentials { _ in try .signature(await signature()) }
    }

    /// Uses a token from a closure, with its expiration if known.
    ///
    /// The closure is called again before the token expires, and when it is refused. It may throw any error, and a
    /// `StorageError` is rethrown unchanged.
    public static func token(
        _ token: @escaping @Sendable () async throws -> (token: String, expiration: Date?)
    ) -> AzureCredentials {
        AzureCredentials { _ in
            let (token, expiration) = try await token()
            return try .token(token, expiration: expiration)
        }
    }

    /// Authenticates as an app that is registered with the identity platform, with its secret.
    ///
    /// - Parameters:
    ///   - tenant: the directory's ID or domain.
    ///   - client: the app's ID.
    ///   - secret: one of the app's secrets.
    ///   - authority: the URL of the identity platform. nil uses `https://login.microsoftonline.com`.
    public static func clientSecret(
        tenant: String, client: String, secret: String, authority: URL? = nil
    ) -> AzureCredentials {
        AzureCredentials { context in
            try await context.tokens.token(
                authority: authority, tenant: tenant, client: client,
                proof: [("client_secret", secret)])
        }
    }

    /// Authenticates as an app that is registered with the identity platform, with a token of another authority in a
    /// file, as Kubernetes provides it. The file is read for each token request, because it is renewed.
    ///
    /// - Parameters:
    ///   - tenant: the directory's ID or domain.
    ///   - client: the app's ID.
    ///   - tokenFile: the path of the file.
    ///   - authority: the URL of the identity platform. nil uses `https://login.microsoftonline.com`.
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

    /// Uses the managed identity of the machine, the function or the container that runs this process.
    ///
    /// - Parameters:
    ///   - client: the ID of one identity, if there are several. nil uses the machine's own.
    ///   - service: the URL of the identity service. nil uses `IDENTITY_ENDPOINT` and `IDENTITY_HEADER` of this
    ///     process, and otherwise the address of virtual machines.
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

    /// Uses the account's key or the signature in a connection string. Its account must be that of the storage.
    public static func connectionString(_ text: String) -> AzureCredentials {
        AzureCredentials { context in
            let string = try ConnectionString(text)
            guard string.account == context.account else {
                throw StorageError(
                    .unauthorized,
                    message:
                        "The connection string is for the account '\(string.account)', not for '\(context.account)'.")
            }
            if let signature = string.signature { return try .signature(signature) }
            return AzureLogin(kind: .key(string.key ?? ""))
        }
    }

    /// The first credentials that the environment of this process contains:
    ///
    /// - `AZURE_STORAGE_CONNECTION_STRING`
    /// - `AZURE_STORAGE_KEY`
    /// - `AZURE_STORAGE_SAS_TOKEN`
    /// - `AZURE_TENANT_ID` and `AZURE_CLIENT_ID` with `AZURE_CLIENT_SECRET` or `AZURE_FEDERATED_TOKEN_FILE`
    /// - a managed identity, if `IDENTITY_ENDPOINT` is set
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
                .unauthorized, message: "The file with the federated token, \(path), cannot be read.", cause: error)
        }
    }
}

extension AzureCredentials: CustomStringConvertible, CustomReflectable {
    /// A fixed text without any secret.
    public var description: String { "credentials for Azure" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
