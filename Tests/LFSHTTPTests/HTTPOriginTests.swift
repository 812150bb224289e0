import Foundation
import LFSHTTP
import Testing

@Suite struct HTTPOriginTests {
    @Test(arguments: ["ftp://host", "https://user:secret@host", "file:///etc/passwd", "https://", "host"])
    func anOriginIsAServerAndNothingElse(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: HTTPError.self) { try HTTPOrigin(url) }
    }

    @Test(arguments: [
        ("HTTPS://Example.COM", "https://example.com"), ("https://example.com:443/x", "https://example.com"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("http://h:80", "http://h"), ("http://h:443", "http://h:443"),
    ])
    func anOriginHasOneForm(_ text: String, _ form: String) throws {
        #expect(try HTTPOrigin(#require(URL(string: text))).description == form)
    }
}
