public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// A folder on a server as people write it in settings and on command lines: `webdav+https://host/path?read-back=true`.
///
/// It holds no secret, and is refused with one.
public struct WebDAVURL: Hashable, Sendable {
    /// How one is written, for help texts.
    public static let example = "webdav+https://host/path"
    /// What it may begin with.
    public static let schemes = ["webdav+https", "webdav+http"]

    /// The folder's own URL. An `http` one counts as allowed, since somebody has written it out.
    public var folder: URL
    /// `read-back`: whether every upload is read back; nil where the URL does not say.
    public var readsBack: Bool?

    /// Takes a URL apart.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with what to write instead.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        let written = text.prefix { $0 != "?" }.dropFirst("webdav+".count)
        guard Self.schemes.contains(url.scheme), let folder = URL(string: String(written)), folder.host != nil,
            folder.user == nil, folder.password == nil
        else {
            throw StorageError(
                .invalidRequest, "'\(text)' is not the URL of a folder on a server: write \(Self.example).")
        }
        self.folder = folder
        readsBack = try url.flag("read-back")
    }

    private static let form = StorageURL.Form(
        example: example, noun: "WebDAV folder",
        secrets: "WEBDAV_USER and WEBDAV_PASSWORD, or WEBDAV_TOKEN, in the environment", settings: ["read-back"])
}
