public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// A container as people write it in settings and on command lines: `azure://account/container/prefix?endpoint=URL`.
///
/// It holds no secret, and is refused with one: credentials come from the environment.
public struct AzureURL: Hashable, Sendable {
    /// How one is written, for help texts.
    public static let example = "azure://account/container/prefix?endpoint=URL"

    /// The name of the storage account.
    public var account: String
    /// The name of the container.
    public var container: String
    /// Stands before every key, with a slash between them.
    public var prefix = ""
    /// `endpoint`: the URL of the account's blob service, with the account as its path where an emulator has it there.
    /// An `http` one counts as allowed, since somebody has written it out.
    public var endpoint: URL?
    /// `access-tier`: of new blobs.
    public var accessTier: String?

    /// Takes a URL apart.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with what to write instead.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        guard !url.authority.contains(":") else { throw Self.form.secretFound }
        let names = try url.prefix().split(separator: "/", maxSplits: 1)
        guard url.scheme == "azure", let container = names.first else {
            throw StorageError(.invalidRequest, "'\(text)' is not the URL of a container. Write \(Self.example).")
        }
        account = url.authority
        self.container = String(container)
        prefix = names.count > 1 ? String(names[1]) : ""
        endpoint = try url.server("endpoint", Self.form)
        accessTier = url["access-tier"]
    }

    private static let form = StorageURL.Form(
        example: example, noun: "container",
        secrets: "AZURE_STORAGE_KEY, AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_SAS_TOKEN in the environment",
        settings: ["endpoint", "access-tier"])
}
