public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// The URL of a signing server as users write it in settings and on command lines: `signed+https://host/lfs`.
///
/// A URL with a secret is rejected.
public struct SigningServerURL: Hashable, Sendable {
    /// A sample URL for help texts.
    public static let example = "signed+https://host/lfs"
    /// The accepted schemes.
    public static let schemes = ["signed+https", "signed+http"]

    /// The server's base URL. An `http` URL is allowed because the user wrote it explicitly.
    public var server: URL

    /// Parses a URL.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with the correct form.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        let written = text.prefix { $0 != "?" }.dropFirst("signed+".count)
        guard Self.schemes.contains(url.scheme), let server = URL(string: String(written)), server.host != nil,
            server.user == nil, server.password == nil
        else {
            throw StorageError(
                .invalidRequest, message: "'\(text)' is not the URL of a signing server: write \(Self.example).")
        }
        self.server = server
    }

    private static let form = StorageURL.Form(
        example: example, noun: "signing server", secrets: "LFS_TOKEN in the environment", settings: [])
}
