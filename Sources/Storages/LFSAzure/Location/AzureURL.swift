public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// The URL of a container as users write it in settings and on command lines:
/// `azure://account/container/prefix?endpoint=URL`.
///
/// A URL with a secret is rejected. Credentials come from the environment.
public struct AzureURL: Hashable, Sendable {
    /// A sample URL for help texts.
    public static let example = "azure://account/container/prefix?endpoint=URL"

    /// The name of the storage account.
    package var account: String
    /// The name of the container.
    public var container: String
    /// The prefix of every key. A slash separates them.
    public var prefix = ""
    /// `endpoint`: the URL of the account's blob service. For an emulator, its path is the account. An `http` URL is
    /// allowed because the user wrote it explicitly.
    public var endpoint: URL?
    /// `access-tier`: the access tier of new blobs.
    package var accessTier: String?

    /// Parses a URL.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with the correct form.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        guard !url.authority.contains(":") else { throw Self.form.secretFound }
        let names = try url.prefix().split(separator: "/", maxSplits: 1)
        guard url.scheme == "azure", let container = names.first else {
            throw StorageError(
                .invalidRequest, message: "'\(text)' is not the URL of a container. Write \(Self.example).")
        }
        account = url.authority
        self.container = String(container)
        prefix = names.count > 1 ? String(names[1]) : ""
        endpoint = try url.server("endpoint", form: Self.form)
        accessTier = url["access-tier"]
    }

    private static let form = StorageURL.Form(
        example: example, noun: "container",
        secrets: "AZURE_STORAGE_KEY, AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_SAS_TOKEN in the environment",
        settings: ["endpoint", "access-tier"])
}
