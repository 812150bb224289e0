import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSSystem
import Testing

@testable import LFSS3

/// The cases of Amazon's `aws-sig-v4-test-suite` that S3 leaves unchanged. The other cases normalize the path.
@Suite("Signature Version 4 test suite") struct SignatureSuiteTests {
    private static let credentials = S3Credentials(
        accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    private static let time = UTCTime(year: 2015, month: 8, day: 30, hour: 12, minute: 36, second: 0)

    private func signature(
        _ method: HTTPRequest.Method = .get, path: String = "/", query: [(name: String, value: String)] = [],
        headers: HTTPHeaders = [:], payload: String = SignatureV4.emptyPayload
    ) throws -> String {
        var headers = headers
        try headers.set("X-Amz-Date", value: "20150830T123600Z")
        let request = CanonicalRequest(
            method: method, path: path, query: PercentEncoding.canonicalQuery(query), host: "example.amazonaws.com",
            headers: headers, payloadHash: payload)
        let signer = SignatureV4(credentials: Self.credentials, region: "us-east-1", service: "service")
        return String(signer.authorization(request, at: Self.time).suffix(64))
    }

    @Test func getVanilla() throws {
        #expect(try signature() == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    }

    @Test func getVanillaEmptyQueryKey() throws {
        #expect(
            try signature(query: [("Param1", "value1")])
                == "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb")
    }

    @Test func getVanillaQueryOrderKeyCase() throws {
        #expect(
            try signature(query: [("Param2", "value2"), ("Param1", "value1")])
                == "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")
    }

    @Test func getVanillaQueryUnreserved() throws {
        let unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        #expect(
            try signature(query: [(unreserved, unreserved)])
                == "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197")
    }

    @Test func getUTF8() throws {
        #expect(
            try signature(path: PercentEncoding.path("/\u{1234}"))
                == "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85")
    }

    @Test func postFormURLEncoded() throws {
        #expect(
            try signature(
                .post, headers: ["Content-Type": "application/x-www-form-urlencoded"],
                payload: ContentHash.hex(ofText: "Param1=value1"))
                == "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a")
    }

    /// "Calculate the signature" in the IAM user guide, with the string to sign of its example.
    @Test func signingKeyOfTheDay() {
        let key = SigningKey(
            secretAccessKey: Self.credentials.secretAccessKey, prefix: "AWS4",
            scope: ["us-east-1", "iam", "aws4_request"])
        let text = """
            AWS4-HMAC-SHA256
            20150830T123600Z
            20150830/us-east-1/iam/aws4_request
            f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59
            """
        let expected = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        for day in ["20150830", "20150831", "20150830"] {
            #expect((key.signature(of: text, on: day) == expected) == (day == "20150830"))
        }
    }
}
