import Foundation
import LFSHTTP
import Testing

@Suite struct HTTPOriginTests {
    @Test(arguments: ["ftp://host", "https://user:secret@host", "file:///etc/passwd", "https://", "host"])
    func anOriginIsAServerAndNothingElse(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: HTTPError.self) { try HTTPOrigin(url) }
    }

    @Test(
        "Plain HTTP needs permission for every host except this machine",
        arguments: [
            ("http://localhost:8585", true), ("http://127.0.0.1", true), ("http://127.255.1.2:1", true),
            ("http://[::1]:8080", true), ("https://example.com", true), ("http://example.com", false),
            ("http://127.0.0.1.example.com", false), ("http://127.1.2.3.4", false), ("http://128.0.0.1", false),
            ("http://127.0.0.256", false), ("http://localhost.example", false), ("http://10.0.0.1", false),
        ])
    func permission(_ text: String, isPermitted: Bool) throws {
        let origin = try HTTPOrigin(#require(URL(string: text)))
        #expect(origin.isPermitted(allowsPlainHTTP: false) == isPermitted)
        #expect(origin.isPermitted(allowsPlainHTTP: true))
    }

    @Test(arguments: [
        ("HTTPS://Example.COM", "https://example.com"), ("https://example.com:443/x", "https://example.com"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("http://h:80", "http://h"), ("http://h:443", "http://h:443"),
    ])
    func anOriginHasOneForm(_ text: String, form: String) throws {
        #expect(try HTTPOrigin(#require(URL(string: text))).description == form)
    }
}
