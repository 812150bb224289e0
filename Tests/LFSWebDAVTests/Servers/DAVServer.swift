import Foundation
import LFSHTTP
import LFSStorage
import Testing

@testable import LFSWebDAV

/// A real server that `Tests/Servers/with` has started.
struct DAVServer: Codable, Sendable, CustomTestStringConvertible {
    var name: String
    var profile: String
    var endpoint: URL
    var accessKey: String
    var secretKey: String
    /// The folder on this machine that it serves.
    var data: String?

    var testDescription: String { name }

    /// All that run now; none when the tests run by themselves.
    static let all: [DAVServer] = {
        guard let text = ProcessInfo.processInfo.environment["LFS_S3_SERVERS"] else { return [] }
        do {
            return try JSONDecoder().decode([DAVServer].self, from: Data(text.utf8)).filter { $0.profile == "webdav" }
        } catch {
            fatalError("LFS_S3_SERVERS cannot be read: \(error)")
        }
    }()

    static var areThere: Bool { !all.isEmpty }

    /// The checks of the contract that the server is known to fail now and then: others may see a gap while a file is
    /// replaced, since a MOVE removes what is in its way first. nginx renames.
    var sometimesDeviatesIn: Set<String> {
        let gap = "a reader sees a whole object while it is being replaced"
        return switch name {
        case "nginx": []
        case "apache": [gap]
        default:
            [
                gap, "a refused upload leaves the former object untouched",
                "uploads to one key beside each other leave one of them whole",
                "an upload that is cancelled on its way leaves the former object or the new one",
            ]
        }
    }

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
