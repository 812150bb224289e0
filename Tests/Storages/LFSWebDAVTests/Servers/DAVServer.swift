import Foundation
import LFSHTTP
import LFSStorage
import TestSupport
import Testing

@testable import LFSWebDAV

/// A WebDAV server.
typealias DAVServer = StartedServer

extension StartedServer {
    static let all = StartedServers.all { $0.profile == "webdav" }

    static var isAvailable: Bool { !all.isEmpty }

    /// The checks of the contract that the server sometimes fails, and the reasons. They concern only keys that are
    /// written again, and every file of LFS has a unique key.
    var sometimesDeviates: [String: String] {
        let reader = "a reader sees a whole object while it is being replaced"
        let writers = "concurrent uploads to one key leave one of them whole"
        let tag = "a download with an outdated entity tag fails as changed"
        return switch name {
        case "apache", "copyparty": [reader: "a MOVE removes what is in its way first"]
        case "rclone-dav":
            [
                reader: "a file that is read while a MOVE replaces it may have bytes of both",
                writers: "files are locked for longer than a MOVE is tried again",
            ]
        case "wsgidav":
            [
                reader: "a MOVE removes what is in its way first",
                writers: "MOVEs that meet are refused with 500 more often than they are tried again",
            ]
        case "seaweedfs-dav":
            [
                reader: "a MOVE removes what is in its way first",
                writers: "files are locked for longer than a MOVE is tried again",
                tag: "an entity tag is of size and second",
            ]
        default: [:]
        }
    }

    /// SeaweedFS's WebDAV asks for no password.
    var asksForPassword: Bool { name != "seaweedfs-dav" }

    /// SeaweedFS makes all missing parent folders, even for a mistyped URL.
    var wantsFolders: Bool { name != "seaweedfs-dav" }

    /// rclone accepts a MKCOL of an existing folder, in spite of RFC 4918, section 9.3.1.
    var refusesExistingFolders: Bool { name != "rclone-dav" }

    /// Makes a folder for one test on the server and returns its storage.
    func storage(
        credentials: WebDAVCredentials? = nil, _ change: (inout WebDAVOptions) -> Void = { _ in }
    ) async throws -> WebDAVStorage {
        var options = WebDAVOptions()
        options.allowsPlainHTTP = true
        change(&options)
        let credentials = credentials ?? .basic(user: accessKey, password: secretKey)
        let root = try WebDAVStorage(url: endpoint, credentials: credentials, options: plainOptions())
        let folder = "test \(UUID().uuidString)"
        let path = root.client.place.root + folder.replacing(" ", with: "%20") + "/"
        _ = try await root.client.send(root.client.request(.mkcol, path: path), about: nil)
        await root.shutdown()
        return try WebDAVStorage(
            url: endpoint.appending(path: folder), credentials: credentials, options: options)
    }
}
