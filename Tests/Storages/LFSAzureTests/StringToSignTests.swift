import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@testable import LFSAzure

/// Tests in which each signed line has a unique value, so that a missing, repeated or moved line is detected.
@Suite("Signed lines of Azure requests")
struct StringToSignTests {
    private let secret = Data("a key of an account".utf8)

    /// Returns the value of `sig` for some lines.
    private func code(_ lines: [String]) -> String {
        let text = Data(lines.joined(separator: "\n").utf8)
        let code = HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: secret))
        return Data(code).base64EncodedString()
    }

    private func query(_ text: String) throws -> [String] {
        #expect(!text.utf8.contains { ":+/,".utf8.contains($0) }, "the text needs no encoding in a URL")
        return try text.split(separator: "&").map { try #require($0.removingPercentEncoding) }
    }

    @Test(arguments: [0, 7])
    func `A signature by the account's key covers every line of a request in order`(_ byteCount: Int64) throws {
        var headers: HTTPHeaders = ["x-other": "0", "authorization": "0"]
        let fields = [
            "content-encoding", "content-language", "content-md5", "content-type", "date", "if-modified-since",
            "if-match", "if-none-match", "if-unmodified-since", "range",
        ]
        for (number, name) in fields.enumerated().reversed() { try headers.set(name, value: "\(number + 1)") }
        try headers.set("x-ms-b", value: "12")
        try headers.set("x-ms-a", value: "11")
        let query = [("b", "2"), ("a", "3"), ("a", "1")].map { (name: $0.0, value: $0.1) }
        let text = SharedKeySignature.stringToSign(
            .post, account: "account", path: "/c/a", query: query, headers: headers, byteCount: byteCount)
        let lines =
            ["POST", "1", "2", byteCount == 0 ? "" : "7"] + (3...10).map(String.init)
            + ["x-ms-a:11", "x-ms-b:12", "/account/c/a", "a:1", "a:3", "b:2"]
        #expect(text == lines.joined(separator: "\n"))
        let signature = try SharedKeySignature(account: "account", key: secret.base64EncodedString())
        let field = signature.field(.post, path: "/c/a", query: query, headers: headers, byteCount: byteCount)
        #expect(field == "SharedKey account:\(code(lines))")
    }

    private func access(_ requiresTLS: Bool) -> AccessSignature {
        var access = AccessSignature(
            permission: "c", name: "/blob/account/container/app/space/one",
            end: Date(timeIntervalSince1970: 1_795_395_723), requiresTLS: requiresTLS)
        access.headers = [("content-length", "3"), ("if-none-match", "*")]
        access.query = [("comp", "block"), ("blockid", "a+/=")]
        return access
    }

    @Test func `A signed download URL makes browsers save the object`() throws {
        var access = access(true)
        access = AccessSignature(permission: "r", name: access.name, end: access.end, requiresTLS: true)
        let lines =
            ["r", "", "2026-11-23T01:02:03Z", access.name, "", "", "https", "2023-11-03", "b"]
            + ["", "", "", "attachment", "", "", ""]
        let expected = [
            "sp=r", "se=2026-11-23T01:02:03Z", "sv=2023-11-03", "sr=b", "spr=https", "rscd=attachment",
            "sig=\(code(lines))",
        ]
        #expect(try query(access.text(key: secret.base64EncodedString())) == expected)
    }

    @Test(arguments: [true, false])
    func `A URL signature by the account's key covers every line in order`(_ requiresTLS: Bool) throws {
        let text = try access(requiresTLS).text(key: secret.base64EncodedString())
        let scheme = requiresTLS ? "https" : ""
        let lines =
            [
                "c", "", "2026-11-23T01:02:03Z", "/blob/account/container/app/space/one", "", "", scheme, "2023-11-03",
                "b",
            ]
            + ["", "", "", "", "", "", ""]
        let expected =
            ["sp=c", "se=2026-11-23T01:02:03Z", "sv=2023-11-03", "sr=b"] + (requiresTLS ? ["spr=https"] : [])
            + ["sig=\(code(lines))"]
        #expect(try query(text) == expected)
        #expect(throws: StorageError.self) { try access(requiresTLS).text(key: "no base64!") }
        #expect(throws: StorageError.self) { try access(requiresTLS).text(key: "") }
    }

    @Test(arguments: [true, false])
    func `A URL signature by a token's key covers every line in order`(_ bindsAll: Bool) throws {
        let body = """
            <?xml version="1.0" encoding="utf-8"?><UserDelegationKey><SignedOid>o</SignedOid><SignedTid>t</SignedTid>\
            <SignedStart>start</SignedStart><SignedExpiry>expiry</SignedExpiry><SignedService>s</SignedService>\
            <SignedVersion>v</SignedVersion><Value>\(secret.base64EncodedString())</Value></UserDelegationKey>
            """
        let key = try DelegationKey(Array(body.utf8), renewedAt: Date(timeIntervalSince1970: 0))
        #expect(key.expiration == Date(timeIntervalSince1970: 0) && !"\(key)".contains(key.value))
        var access = access(true)
        if !bindsAll { (access.headers, access.query) = ([], []) }
        let lines =
            ["c", "", "2026-11-23T01:02:03Z", "/blob/account/container/app/space/one", "o", "t", "start", "expiry"]
            + ["s", "v", "", "", "", "", "", "", "https", "2026-04-06", "b", "", ""]
            + (bindsAll ? ["content-length:3\nif-none-match:*\n", "\ncomp:block\nblockid:a+/="] : ["", ""])
            + ["", "", "", "", ""]
        let bound = bindsAll ? ["srh=content-length,if-none-match", "srq=comp,blockid"] : []
        let expected =
            ["sp=c", "se=2026-11-23T01:02:03Z", "sv=2026-04-06", "sr=b", "spr=https", "skoid=o", "sktid=t"]
            + ["skt=start", "ske=expiry", "sks=s", "skv=v"] + bound + ["sig=\(code(lines))"]
        #expect(try query(try access.text(key)) == expected)
    }

    @Test func `A date in a signed line pads the year to four digits and other parts to two`() {
        for (seconds, text) in [(0, "1970-01-01T00:00:00Z"), (-59_011_459_199, "0100-01-01T00:00:01Z")] {
            #expect(UTCTime(Date(timeIntervalSince1970: Double(seconds))).signatureText == text)
        }
    }
}
