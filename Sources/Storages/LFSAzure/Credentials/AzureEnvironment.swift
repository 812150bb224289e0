import Foundation
import LFSStorage

/// The environment variables that Azure's tools read ("Azure CLI configuration", "EnvironmentCredential",
/// "WorkloadIdentityCredential").
struct AzureEnvironment: Sendable {
    var variables: [String: String]

    /// The environment of this process.
    static var process: AzureEnvironment { AzureEnvironment(variables: ProcessInfo.processInfo.environment) }

    /// The value of a variable without surrounding whitespace. nil if it is unset or empty.
    subscript(name: String) -> String? {
        variables[name].map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// - Throws: ``StorageError/Code/unauthorized``, with the variables to set.
    func credentials(for account: String) throws(StorageError) -> AzureCredentials {
        if let string = self["AZURE_STORAGE_CONNECTION_STRING"] { return .connectionString(string) }
        if let key = self["AZURE_STORAGE_KEY"] {
            if let other = self["AZURE_STORAGE_ACCOUNT"], other != account {
                throw StorageError(
                    .unauthorized,
                    message: "AZURE_STORAGE_KEY belongs to the account '\(other)', not to '\(account)'.")
            }
            return .sharedKey(key)
        }
        if let signature = self["AZURE_STORAGE_SAS_TOKEN"] { return .sas { signature } }
        if let token = try appCredentials() { return token }
        let client = self["AZURE_CLIENT_ID"]
        if self["IDENTITY_ENDPOINT"] != nil { return .managedIdentity(client: client, service: nil, self) }
        throw StorageError(
            .unauthorized,
            message: """
                No credentials in the environment: set AZURE_STORAGE_KEY, AZURE_STORAGE_CONNECTION_STRING or \
                AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET.
                """)
    }

    /// Returns nil if the environment names neither a secret nor a token file.
    private func appCredentials() throws(StorageError) -> AzureCredentials? {
        let (secret, file) = (self["AZURE_CLIENT_SECRET"], self["AZURE_FEDERATED_TOKEN_FILE"])
        if secret == nil, file == nil { return nil }
        guard let tenant = self["AZURE_TENANT_ID"], let client = self["AZURE_CLIENT_ID"] else {
            let missing = self["AZURE_TENANT_ID"] == nil ? "AZURE_TENANT_ID" : "AZURE_CLIENT_ID"
            throw StorageError(
                .unauthorized, message: "The environment has only half of the credentials: set \(missing) too.")
        }
        let host = self["AZURE_AUTHORITY_HOST"]
        let authority = host.flatMap { URL(string: $0) }
        if host != nil, authority == nil {
            throw StorageError(.unauthorized, message: "AZURE_AUTHORITY_HOST is not a URL.")
        }
        if let secret { return .clientSecret(tenant: tenant, client: client, secret: secret, authority: authority) }
        return .workloadIdentity(tenant: tenant, client: client, tokenFile: file ?? "", authority: authority)
    }
}
