import Foundation
import LFSHTTP
import LFSStorage
import TestSupport
import Testing

@testable import LFSWebDAV

/// A server of WebDAV.
typealias DAVServer = StartedServer

extension StartedServer {
    static let all = StartedServers.all { $0.profile == "webdav" }

    static var areThere: Bool { !all.isEmpty }

    /// What the server is known to do now and then: the check of the contract that finds it out, and the reason. It
    /// happens to keys that are written again only, and no two files of LFS have the same.
    var sometimesDeviates: [String: String] {
        let reader = "a reader sees a whole object while it is being replaced"
        let writers = "uploads to one key beside each other leave one of them whole"
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

    /// SeaweedFS's WebDAV lets everybody in.
    var asksForPassword: Bool { name != "seaweedfs-dav" }

    /// SeaweedFS makes all folders on the way, also that of a URL that somebody has misspelt.
    var wantsFolders: Bool { name != "seaweedfs-dav" }

    /// A folder of one test on the server, which is made.
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
        _ = try await root.client.send(root.client.request(.mkcol, path), about: nil)
        await root.shutdown()
        return try WebDAVStorage(
            url: endpoint.appending(path: folder), credentials: credentials, options: options)
    }
}
