import Foundation
import LFSHTTP
import LFSHTTPStorage
import Testing

@testable import LFSS3

/// "Examples: Signature Calculations" and "Example: Presigned URL" in the Amazon S3 API reference.
@Suite("Amazon's signature examples") struct SignatureTests {
    private let signer = SignatureV4(
        credentials: S3Credentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1")
    private let origin = HTTPOrigin(isSecure: true, host: "examplebucket.s3.amazonaws.com", port: nil)
    private let date = Date(timeIntervalSince1970: 1_369_353_600)

    private func authorization(
        _ method: HTTPRequest.Method, path: String, query: [(name: String, value: String)] = [],
        headers: HTTPHeaders = [:], payload: String = SignatureV4.emptyPayload
    ) throws -> String {
        var headers = headers
        try signer.sign(
            method, origin: origin, path: path, query: query, headers: &headers, payloadHash: payload, date: date)
        #expect(headers["x-amz-date"] == "20130524T000000Z")
        #expect(headers["x-amz-content-sha256"] == payload)
        #expect(headers["x-amz-security-token"] == nil)
        return try #require(headers["authorization"])
    }

    private func expected(_ signedHeaders: String, signature: String) -> String {
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            + "SignedHeaders=\(signedHeaders), Signature=\(signature)"
    }

    @Test func getOfARange() throws {
        #expect(
            try authorization(.get, path: "/test.txt", headers: ["Range": "bytes=0-9"])
                == expected(
                    "host;range;x-amz-content-sha256;x-amz-date",
                    signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
    }

    @Test func putWithAnAwkwardName() throws {
        #expect(
            try authorization(
                .put, path: PercentEncoding.path("/test$file.text"),
                headers: ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
                payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
                == expected(
                    "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                    signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test func subresourceWithoutAValue() throws {
        #expect(
            try authorization(.get, path: "/", query: [("lifecycle", "")])
                == expected(
                    "host;x-amz-content-sha256;x-amz-date",
                    signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
    }

    @Test func listing() throws {
        #expect(
            try authorization(.get, path: "/", query: [("prefix", "J"), ("max-keys", "2")])
                == expected(
                    "host;x-amz-content-sha256;x-amz-date",
                    signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
    }

    @Test func presignedGet() throws {
        #expect(
            try signer.presign(.get, origin: origin, path: "/test.txt", expires: .seconds(86_400), date: date)
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test func signingAgainReplacesTheFirstSignature() throws {
        var headers: HTTPHeaders = ["Range": "bytes=0-9"]
        for date in [date.addingTimeInterval(90_000), date] {
            try signer.sign(
                .get, origin: origin, path: "/test.txt", headers: &headers, payloadHash: SignatureV4.emptyPayload,
                date: date)
        }
        #expect(headers.fields.count { HTTPHeaders.isEqual($0.name, other: "authorization") } == 1)
        #expect(
            headers["authorization"]?.hasSuffix("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
                == true)
    }

    @Test(arguments: [Duration.seconds(0), .seconds(-1), .milliseconds(999), .seconds(604_801)])
    func presigningKeepsToSevenDays(_ expires: Duration) {
        #expect(throws: HTTPError.self) {
            try signer.presign(.get, origin: origin, path: "/a", expires: expires, date: date)
        }
    }

    @Test func aBodyStaysUnsignedUnderTLSOnly() throws {
        for isSecure in [true, false] {
            let origin = HTTPOrigin(isSecure: isSecure, host: "h", port: nil)
            var headers = HTTPHeaders()
            do {
                try signer.sign(
                    .put, origin: origin, path: "/", headers: &headers, payloadHash: SignatureV4.unsignedPayload,
                    date: date)
                #expect(isSecure)
                #expect(headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
            } catch {
                #expect(!isSecure)
                #expect(headers.fields.isEmpty)
            }
        }
    }

    @Test func aTokenThatCannotStandInAHeaderFieldIsAnErrorThatDoesNotShowIt() throws {
        let credentials = S3Credentials(accessKeyID: "A", secretAccessKey: "s", sessionToken: "TOKEN\n")
        var headers = HTTPHeaders()
        let error = #expect(throws: HTTPError.self) {
            try SignatureV4(credentials: credentials, region: "r").sign(
                .get, origin: origin, path: "/", headers: &headers, payloadHash: SignatureV4.emptyPayload, date: date)
        }
        #expect(error?.message.contains("TOKEN") == false)
    }
}
