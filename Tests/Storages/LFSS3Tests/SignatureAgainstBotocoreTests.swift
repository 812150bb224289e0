import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSSystem
import Testing

@testable import LFSS3

/// Signatures of botocore 1.44.5: `S3SigV4Auth` with signed payloads, and `S3SigV4QueryAuth`.
@Suite("Signatures compared with botocore") struct SignatureAgainstBotocoreTests {
    private static let token = "FwoGZXIvYXdzEXAMPLE+token/with=signs=="
    private let origin = HTTPOrigin(isSecure: true, host: "bucket.s3.eu-central-1.amazonaws.com", port: nil)
    private let date = Date(timeIntervalSince1970: 1_772_323_199)

    private func signer(token: String?) -> SignatureV4 {
        SignatureV4(
            credentials: S3Credentials(
                accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                sessionToken: token),
            region: "eu-central-1")
    }

    private func signature(
        _ method: HTTPRequest.Method, key: String, token: String? = nil,
        query: [(name: String, value: String)] = [], headers: HTTPHeaders = [:], body: String = ""
    ) throws -> (signedHeaders: String, signature: String) {
        var headers = headers
        try signer(token: token).sign(
            method, origin: origin, path: PercentEncoding.path("/\(key)"), query: query, headers: &headers,
            payloadHash: ContentHash.hex(ofText: body), date: date)
        #expect(headers["x-amz-security-token"] == token)
        let parts = try #require(headers["authorization"]).split(separator: ", ")
        return (String(parts[1].dropFirst("SignedHeaders=".count)), String(parts[2].dropFirst("Signature=".count)))
    }

    @Test(
        "Signatures of keys with special characters match botocore",
        arguments: [
            ("a b.txt", "7ed44c8fa39f02e4dbdffa85d3bde46deca3a0cf17dc3ba90c928ffdc521de62"),
            ("caf\u{E9}", "263762337107c3ec767cf77fea22c4a3924d588ddd58e8a44df9ef5630f60b51"),
            ("cafe\u{301}", "7f5116bd204025b8e21c0fb2c30b29bc3cbc9385514395dd97a7e5744311d362"),
            ("a+b=c&d", "5141540df83d1fffeb5b6e1380685ef694f16c9a1dc33d1358a403f5cdd7acd9"),
            ("a//b/../c/./d", "675b25527fe3c20bb8e7a1454cd9c5e95cb3db6ab05544fbe7ceeb09151a2ad2"),
            ("100%25 done%", "64fef021519026fb56cc521b43b7663edcfdbbae1d36871a27a5859caae30d62"),
            ("~tilde:colon@x", "4285f90063076ca651d3ed44572b46d04f90e7a7a6be071cba645980b61c9906"),
            ("!'()*;,$", "fd44c8c4ea349ec28a77aac7a73f6540835a6713262f77ba3f6003b627c23ae9"),
            ("\u{1F600}/\u{65E5}\u{672C}", "68b2b2c5552faaaeac1d74aeb3e67436e060e128526548a566a0e57636b16f4e"),
        ])
    func awkwardKeys(_ key: String, expected: String) throws {
        let result = try signature(.put, key: key, headers: ["Content-Type": "text/plain"], body: "hello")
        #expect(result.signature == expected)
        #expect(result.signedHeaders == "content-type;host;x-amz-content-sha256;x-amz-date")
    }

    @Test func aSessionTokenIsSigned() throws {
        let result = try signature(.get, key: "a", token: Self.token)
        #expect(result.signedHeaders == "host;x-amz-content-sha256;x-amz-date;x-amz-security-token")
        #expect(result.signature == "1fb769ab41c5bdac4eb43e7782fb35109b6440b8e30935d8cf0f33410e8067ab")
    }

    @Test func aQueryIsSortedAfterEncoding() throws {
        let result = try signature(
            .get, key: "",
            query: [
                ("list-type", "2"), ("prefix", "a b/+"), ("continuation-token", "x=="), ("max-keys", "1000"),
                ("encoding-type", "url"), ("a", ""), ("a+b", "1"),
            ])
        #expect(result.signature == "a0152b943a203977d6489c0d4e80e7c6b075d6ba1e4fc8620138b05c8509576f")
    }

    @Test func theStartOfAMultipartUpload() throws {
        #expect(
            try signature(.post, key: "k", query: [("uploads", "")]).signature
                == "0fb6d0863f1f91871a80e20a6b6664c2d19b44d329156237cdd9f04be980fe31")
    }

    @Test func aPartWithChecksumsAConditionAndBlanksInAField() throws {
        let result = try signature(
            .put, key: "k", token: Self.token, query: [("partNumber", "1"), ("uploadId", "ab.c~d-_/=")],
            headers: [
                "Content-MD5": "XUFAKrxLKna5cZ2REBfFkg==", "If-None-Match": "*", "x-amz-meta-name": "  a   b  ",
                "x-amz-checksum-sha256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
            ], body: "hello")
        #expect(
            result.signedHeaders
                == "content-md5;host;if-none-match;x-amz-checksum-sha256;x-amz-content-sha256;x-amz-date;"
                + "x-amz-meta-name;x-amz-security-token")
        #expect(result.signature == "0b50130cb2ab0d1c374e4208f4b70ca7f62effdac96579d9962f60fcb92ff240")
    }

    @Test func fieldsThatMayChangeOnTheWayAreNotSigned() throws {
        let plain = try signature(.get, key: "a", token: Self.token)
        let more = try signature(
            .get, key: "a", token: Self.token,
            headers: ["Accept-Encoding": "gzip", "User-Agent": "x/1", "Expect": "100-continue", "Accept": "*/*"])
        #expect(more == plain)
    }

    @Test func aHostFieldCountsInsteadOfTheOriginsName() throws {
        let host: HTTPHeaders = ["Host": "bucket.s3.eu-central-1.amazonaws.com"]
        #expect(try signature(.get, key: "a", headers: host) == signature(.get, key: "a"))
        #expect(
            try signature(.get, key: "a", headers: ["Host": "other"]).signature != signature(.get, key: "a").signature)
    }

    @Test func aPresignedGet() throws {
        let query = try signer(token: nil).presign(
            .get, origin: origin, path: PercentEncoding.path("/a b+\u{E9}"), expires: .seconds(900), date: date)
        #expect(
            query
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIDEXAMPLE%2F20260228%2Feu-central-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20260228T235959Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=8a5c79eb62f38c8d9d44c94b0d764c59d21af7d2bdceab7dd8a7d6f186972992")
    }

    @Test func aPresignedPutWithASessionToken() throws {
        let query = try signer(token: Self.token).presign(
            .put, origin: origin, path: PercentEncoding.path("/a//b:~"), expires: .seconds(900), date: date)
        #expect(query.contains("&X-Amz-Security-Token=FwoGZXIvYXdzEXAMPLE%2Btoken%2Fwith%3Dsigns%3D%3D"))
        #expect(
            query.hasSuffix("X-Amz-Signature=e9ea291f6270f406ec025a994d7fe97e6630dc59ac159f19000483d8be2a82ed"))
    }

    @Test func aPresignedGetForSevenDaysWithAQueryOfItsOwn() throws {
        let query = try signer(token: Self.token).presign(
            .get, origin: origin, path: "/k",
            query: [("response-content-disposition", "attachment; filename=\"a+b.txt\""), ("versionId", "1")],
            expires: .seconds(604_800), date: date)
        #expect(query.contains("response-content-disposition=attachment%3B%20filename%3D%22a%2Bb.txt%22"))
        #expect(
            query.hasSuffix("X-Amz-Signature=5eb92a07b5a693774ab1b5afac09e60e8fb5f5072ce4aa55edb9c2b0fc1cea15"))
    }

    @Test func aPresignedPutThatPinsFields() throws {
        let query = try signer(token: nil).presign(
            .put, origin: origin, path: "/k", headers: ["Content-Type": "image/png", "x-amz-meta-a": "b"],
            expires: .seconds(60), date: date)
        #expect(query.contains("X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-meta-a"))
        #expect(
            query.hasSuffix("X-Amz-Signature=1905390cc38e927d1b34e7a820fa80ba3bb3de6ce9ba30f47b104509a299597f"))
    }
}
