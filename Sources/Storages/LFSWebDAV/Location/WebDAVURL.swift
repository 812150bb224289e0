public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// The URL of a folder on a server as users write it in settings and on command lines:
/// `webdav+https://host/path?read-back=true`.
///
/// A URL with a secret is rejected.
public struct WebDAVURL: Hashable, Sendable {
    /// A sample URL for help texts.
    public static let example = "webdav+https://host/path"
    /// The accepted schemes.
    public static let schemes = ["webdav+https", "webdav+http"]

    /// The URL of the folder. An `http` URL is allowed because the user wrote it explicitly.
    public var folder: URL
    /// `read-back`: true to read back every upload. nil if the URL does not set it.
    package var readsBack: Bool?

    /// Parses a URL.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with the correct form.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        let written = text.prefix { $0 != "?" }.dropFirst("webdav+".count)
        guard Self.schemes.contains(url.scheme), let folder = URL(string: String(written)), folder.host != nil,
            folder.user == nil, folder.password == nil
        else {
            throw StorageError(
                .invalidRequest, message: "'\(text)' is not the URL of a folder on a server: write \(Self.example).")
        }
        self.folder = folder
        readsBack = try url.flag("read-back")
    }

    private static let form = StorageURL.Form(
        example: example, noun: "WebDAV folder",
        secrets: "WEBDAV_USER and WEBDAV_PASSWORD, or WEBDAV_TOKEN, in the environment", settings: ["read-back"])
}
