import LFSHTTPStorage
import Testing

@testable import LFSS3

@Suite("Percent encoding of S3") struct PercentEncodingTests {
    @Test func queriesAreSortedByEncodedNameAndThenValue() {
        #expect(
            PercentEncoding.query([("b", "1"), ("a", "z"), ("uploads", ""), ("a", "y"), ("A", "0"), ("a-", "1")])
                == "A=0&a=y&a=z&a-=1&b=1&uploads=")
        #expect(PercentEncoding.query([]) == "")
    }

    @Test("Keys decode", arguments: [("a%2fb%2FC", "a/b/C"), ("a+b%2B", "a b+"), ("caf%C3%A9", "caf\u{E9}"), ("", "")])
    func decoded(_ text: String, expected: String) { #expect(PercentEncoding.decoded(text) == expected) }

    @Test("Cut percent encodings and invalid UTF-8 are refused", arguments: ["%", "%4", "a%zz", "%FF", "%-1", "%+1"])
    func refused(_ text: String) { #expect(PercentEncoding.decoded(text) == nil) }
}
