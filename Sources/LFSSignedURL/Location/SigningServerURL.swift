public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// A signing server as people write it in settings and on command lines: `signed+https://host/lfs`.
///
/// It holds no secret, and is refused with one.
public struct SigningServerURL: Hashable, Sendable {
    /// How one is written, for help texts.
    public static let example = "signed+https://host/lfs"
    /// What it may begin with.
    public static let schemes = ["signed+https", "signed+http"]

    /// The server's base URL. An `http` one counts as allowed, since somebody has written it out.
    public var server: URL

    /// Takes a URL apart.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with what to write instead.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        let written = text.prefix { $0 != "?" }.dropFirst("signed+".count)
        guard Self.schemes.contains(url.scheme), let server = URL(string: String(written)), server.host != nil,
            server.user == nil, server.password == nil
        else {
            throw StorageError(.invalidRequest, "'\(text)' is not the URL of a signing server: write \(Self.example).")
        }
        self.server = server
    }

    private static let form = StorageURL.Form(
        example: example, noun: "signing server", secrets: "LFS_TOKEN in the environment", settings: [])
}
