import LFSHTTPStorage
import Testing

@Suite("Percent encoding") struct PercentEncodingTests {
    @Test(
        "Paths keep slashes, and each other reserved byte is encoded once",
        arguments: [
            ("/a/b", "/a/b"), ("//", "//"), ("/a/../b", "/a/../b"), ("a b", "a%20b"), ("a+b", "a%2Bb"),
            ("%41", "%2541"), ("~-._", "~-._"), ("\u{E9}", "%C3%A9"), ("e\u{301}", "e%CC%81"), ("\0", "%00"),
            ("\u{1F600}", "%F0%9F%98%80"), ("", ""),
        ])
    func path(_ text: String, expected: String) { #expect(PercentEncoding.path(text) == expected) }

    @Test func queriesEncodeSlashes() { #expect(PercentEncoding.query("a/b=c&d") == "a%2Fb%3Dc%26d") }
}
