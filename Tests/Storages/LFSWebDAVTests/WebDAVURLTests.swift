import Foundation
import LFSStorage
import Testing

@testable import LFSWebDAV

@Suite("WebDAV URLs")
struct WebDAVURLTests {
    @Test("A WebDAV URL sets the folder and whether uploads are read back")
    func whole() throws {
        let url = try WebDAVURL(parsing: "webdav+https://cloud.example:8443/dav/a%40b?read-back=true")
        #expect(url.folder.absoluteString == "https://cloud.example:8443/dav/a%40b")
        #expect(url.readsBack == true)
        #expect(try WebDAVURL(parsing: "webdav+http://127.0.0.1/dav").readsBack == nil)
        let storage = try WebDAVStorage(try WebDAVURL(parsing: "webdav+http://127.0.0.1/dav"))
        #expect(storage.capabilities.proof == .byteCount)
        #expect(try WebDAVStorage(url).capabilities.proof == .checksum)
    }

    @Test(
        "An invalid WebDAV URL is refused with a hint",
        arguments: [
            ("webdav://h/p", "webdav+https://host/path"), ("webdav+https://", "names no WebDAV folder"),
            ("webdav+https://h/p?read-back=yes", "true, false"), ("webdav+https://h/p?depth=1", "read-back"),
            ("webdav+https://user:S3CR3T@h/p", "WEBDAV_PASSWORD"),
        ])
    func wrong(text: String, advice: String) {
        let error = #expect(throws: StorageError.self) { try WebDAVURL(parsing: text) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("S3CR3T") == false)
    }
}
