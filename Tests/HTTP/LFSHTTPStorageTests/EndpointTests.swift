import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("Endpoints") struct EndpointTests {
    @Test(
        "An endpoint is a server and a path without a trailing slash",
        arguments: [
            ("https://h", "https://h", ""), ("https://h/", "https://h", ""),
            ("http://h:81/base/", "http://h:81", "/base"),
            ("https://h/a/b%20c", "https://h", "/a/b%20c"), ("https://h/a~b", "https://h", "/a~b"),
        ])
    func parts(_ text: String, origin: String, path: String) throws {
        let endpoint = try Endpoint(#require(URL(string: text)))
        #expect(endpoint.origin.description == origin)
        #expect(endpoint.path == path)
    }

    @Test(
        "An endpoint with more parts is refused without repeating a password",
        arguments: [
            "https://h/?q=1", "https://h#part", "https://h/a%2Fb", "https://h/../b", "https://user:canary@h", "ftp://h",
        ])
    func refused(_ text: String) throws {
        let url = try #require(URL(string: text))
        let error = #expect(throws: StorageError.self) { try Endpoint(url) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("canary") == false)
    }
}
