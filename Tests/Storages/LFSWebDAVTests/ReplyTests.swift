import Foundation
import LFSHTTPStorage
import LFSStorage
import Synchronization
import Testing

@testable import LFSWebDAV

@Suite("Replies of WebDAV servers")
struct ReplyTests {
    private let place = Result { try WebDAVPlace(URL(string: "https://host:8443/a%20b").unsafelyUnwrapped) }

    private func read(_ text: String, pieces: Int) throws -> (itself: DAVResource?, others: [DAVResource]) {
        let others = Mutex<[DAVResource]>([])
        let place = try place.get()
        let reader = MultistatusReader(itself: "", in: place) { found in others.withLock { $0.append(found) } }
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            try bytes[start..<min(start + pieces, bytes.count)].withUnsafeBytes { try reader.read($0) }
        }
        return (try reader.finish(), others.withLock { $0 })
    }

    /// A reply of Apache, with several prefixes for one namespace and a separate block for missing properties.
    private static let apache = """
        <?xml version="1.0" encoding="utf-8"?>
        <D:multistatus xmlns:D="DAV:" xmlns:ns0="DAV:">
        <D:response xmlns:lp1="DAV:" xmlns:lp2="http://apache.org/dav/props/">
        <D:href>/a%20b/</D:href>
        <D:propstat>
        <D:prop><lp1:resourcetype><D:collection/></lp1:resourcetype><lp1:getetag>"1000-65"</lp1:getetag></D:prop>
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat>
        <D:propstat><D:prop><getcontentlength/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>
        </D:response>
        <D:response xmlns:lp1="DAV:">
        <D:href>/a%20b/space/file</D:href>
        <D:propstat><D:prop><lp1:resourcetype/><lp1:getcontentlength> 5 </lp1:getcontentlength>
        <lp1:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</lp1:getlastmodified>
        <lp1:getetag>W/"5-x"</lp1:getetag></D:prop>
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat>
        </D:response>
        </D:multistatus>

        """

    @Test("A WebDAV listing is parsed in pieces of any size", arguments: [1, 2, 7, 64, 100_000])
    func pieces(_ count: Int) throws {
        let (itself, others) = try read(Self.apache, pieces: count)
        #expect(itself?.isFolder == true)
        #expect(itself?.byteCount == nil)
        let file = try #require(others.first)
        #expect(others.count == 1)
        #expect(file.name == "space/file")
        #expect(file.byteCount == 5)
        #expect(file.entityTag?.text == "5-x")
        #expect(file.modified == Date(timeIntervalSince1970: 784_111_777))
        let object = try file.object(in: place.get())
        #expect(object?.url.absoluteString == "https://host:8443/a%20b/space/file")
    }

    @Test("A WebDAV listing may have any namespace prefix or be empty")
    func prefixes() throws {
        let plain = Self.apache.replacing("D:", with: "").replacing("xmlns:D", with: "xmlns").replacing(
            "lp1:", with: "")
        #expect(try read(plain, pieces: 10).others.map(\.name) == ["space/file"])
        #expect(try read("<multistatus xmlns='DAV:'/>", pieces: 3).others.isEmpty)
        #expect(try read("<x:multistatus xmlns:x='DAV:'></x:multistatus>", pieces: 3).itself == nil)
    }

    @Test("A cut WebDAV listing is an error", arguments: [1, 20, 200, 800])
    func cut(_ missing: Int) {
        let text = Self.apache.trimmingCharacters(in: .whitespacesAndNewlines).dropLast(missing)
        let error = #expect(throws: StorageError.self) { try read(String(text), pieces: 50) }
        #expect(error?.code == .serverError)
    }

    @Test("External entities in a reply are refused")
    func entities() {
        let attack = Self.apache.replacing(
            "<D:multistatus", with: "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><D:multistatus"
        ).replacing("<D:href>/a%20b/space/file", with: "<D:href>/a%20b/space/&e;")
        #expect(throws: StorageError.self) { try read(attack, pieces: 50) }
    }

    @Test(
        "A path is resolved to a name below the folder or refused",
        arguments: [
            ("/a%20b/x/y", "x/y"), ("/a b/x", "x"), ("https://proxy/a%20b/x", "x"), ("/a%20b/", ""), ("/a%20b", ""),
            ("/a%20bc", nil), ("/", nil), ("x", nil), ("https://host", nil), ("/a%20b/%FF", nil),
        ] as [(String, String?)])
    func names(_ href: String, name: String?) throws {
        #expect(try place.get().name(of: href) == name)
    }

    @Test("A path whose root has an equivalent name is below the folder")
    func equivalentRoot() throws {
        let place = try WebDAVPlace(#require(URL(string: "https://host/caf%C3%A9")))
        #expect(place.name(of: "/cafe%CC%81/a/b") == "a/b")
    }

    @Test("The temporary name of an upload is not a key but leads back to it")
    func unfinished() throws {
        let (key, place) = (try ObjectKey("space/sub/0199.7e-"), try place.get())
        let path = place.path(of: key, unfinished: UnfinishedFile().token)
        let name = try #require(place.name(of: path))
        #expect(ObjectKey(listed: name) == nil)
        #expect(CollectionWalk.key(ofUnfinished: name) == key)
        #expect(place.folders(of: key) == ["/a%20b/space/", "/a%20b/space/sub/"])
        for other in ["space/file", "space/~file", "space/~", "~~", "~a~", "~~b", "~a~b~c", "", "space/~A~b", "~a~b/c"]
        {
            #expect(CollectionWalk.key(ofUnfinished: other) == nil, "\(other)")
        }
    }

    @Test("An invalid checkpoint is refused", arguments: [#"{"token":"../x"}"#, #"{"token":""}"#, "{}", "x"])
    func checkpoint(_ text: String) {
        #expect(UnfinishedFile(UploadCheckpoint(rawValue: Data(text.utf8))) == nil)
    }

    @Test("A WebDAV URL must use HTTPS and have only a path")
    func urls() throws {
        for url in [
            "http://host/dav", "https://user:canary@host/dav", "https://host/dav?x=1", "ftp://host/", "https://",
        ] {
            let error = #expect(throws: StorageError.self) {
                try WebDAVStorage(url: #require(URL(string: url)), credentials: .none)
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("canary") == false)
        }
        let storage = try WebDAVStorage(url: #require(URL(string: "https://Host/dav/")), credentials: .none)
        #expect(storage.capabilities.location == "webdav:host/dav/")
    }

    @Test("The environment gives a token, a name with a password, or nothing")
    func environment() async throws {
        func field(_ variables: [String: String]) async throws -> String? {
            try await WebDAVCredentials.environment(variables).login().field
        }
        #expect(try await field([:]) == nil)
        #expect(try await field(["WEBDAV_TOKEN": "abc"]) == "Bearer abc")
        #expect(
            try await field(["WEBDAV_USER": "Aladdin", "WEBDAV_PASSWORD": "open sesame"])
                == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        for half in [
            ["WEBDAV_USER": "a"], ["WEBDAV_PASSWORD": "b"], ["WEBDAV_TOKEN": "a b"], ["WEBDAV_TOKEN": "a\r\n"],
        ] {
            #expect(try await storageError { try await field(half) }?.code == .unauthorized)
        }
    }
}
