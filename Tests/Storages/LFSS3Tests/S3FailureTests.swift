import Foundation
import LFSHTTP
import LFSStorage
import Testing

@testable import LFSS3

@Suite("Refusals of S3") struct S3FailureTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)

    private func failure(
        _ status: Int, code: String?, message: String? = nil, headers: HTTPHeaders = [:], key: String? = "a/b",
        credentials: S3Credentials? = nil
    ) throws -> S3Failure {
        S3Failure(
            HTTPResponseHead(status: status, headers: headers),
            reply: code.map { ErrorReply(code: $0, message: message) },
            key: try key.map { try ObjectKey($0) }, signedAt: now, credentials: credentials)
    }

    @Test("An error about an archived object names its storage class and the remedy")
    func archived() throws {
        let body = """
            <Error><Code>InvalidObjectState</Code><Message>The operation is not valid for the object's storage class\
            </Message><StorageClass>DEEP_ARCHIVE</StorageClass></Error>
            """
        let response = HTTPResponse(head: HTTPResponseHead(status: 403), body: Array(body.utf8))
        let error = S3Failure(response, key: try ObjectKey("a/b")).storageError
        let message = error.message
        #expect(error.code == .archived)
        #expect(message.contains("archived in the storage class DEEP_ARCHIVE"), "\(message)")
        #expect(message.contains("restore-object"), "\(message)")
    }

    @Test(
        "A refusal with a temporary code is retryable",
        arguments: [
            ("SlowDown", 503, StorageError.Code.throttled), ("ServiceUnavailable", 503, .throttled),
            ("TooManyRequests", 429, .throttled), ("RequestTimeout", 400, .timeout),
            ("InternalError", 500, .serverError),
            ("InternalError", 200, .serverError), ("OperationAborted", 409, .serverError),
            ("ConditionalRequestConflict", 409, .serverError), ("IncompleteBody", 400, .serverError),
            ("NoSuchUpload", 404, .serverError), ("BadDigest", 400, .integrity), ("InvalidDigest", 400, .integrity),
            ("XAmzContentSHA256Mismatch", 400, .integrity), ("InvalidPart", 400, .integrity),
            ("QuotaExceeded", 403, .noSpace), ("XMinioStorageFull", 507, .noSpace), ("Unheard", 502, .serverError),
            ("Unheard", 429, .throttled),
        ])
    func retryable(_ code: String, status: Int, expected: StorageError.Code) throws {
        let failure = try failure(status, code: code)
        #expect(failure.storageError.code == expected)
        #expect(failure.storageError.isRetryable)
        #expect(failure.code == code)
    }

    @Test(
        "A refusal with a permanent code is not retryable",
        arguments: [
            ("AccessDenied", 403, StorageError.Code.forbidden), ("InvalidAccessKeyId", 403, .unauthorized),
            ("SignatureDoesNotMatch", 403, .unauthorized), ("ExpiredToken", 400, .unauthorized),
            ("RequestTimeTooSkewed", 403, .unauthorized), ("NoSuchBucket", 404, .misconfigured),
            ("PaymentRequired", 402, .misconfigured), ("EntityTooLarge", 400, .tooLarge),
            ("InvalidRequest", 400, .invalidRequest),
            ("NotImplemented", 501, .invalidRequest), ("MethodNotAllowed", 405, .invalidRequest),
            ("PermanentRedirect", 301, .misconfigured), ("InvalidBucketName", 400, .misconfigured),
            ("InvalidStorageClass", 400, .misconfigured), ("InvalidLocationConstraint", 400, .misconfigured),
            ("KeyTooLongError", 400, .invalidKey), ("NoSuchKey", 404, .missing), ("PreconditionFailed", 412, .changed),
            ("Unheard", 400, .invalidRequest), ("Unheard", 403, .forbidden),
        ])
    func permanent(_ code: String, status: Int, expected: StorageError.Code) throws {
        let error = try failure(status, code: code).storageError
        #expect(error.code == expected)
        #expect(!error.isRetryable)
        #expect(error.message.contains("S3 answered \(status) \(code)"))
    }

    @Test(
        "A refusal without a body is classified by its status",
        arguments: [
            (301, StorageError.Code.invalidRequest), (400, .invalidRequest), (401, .unauthorized),
            (402, .misconfigured),
            (403, .forbidden),
            (404, .missing), (405, .invalidRequest), (408, .timeout), (409, .serverError), (411, .invalidRequest),
            (412, .changed), (413, .tooLarge), (416, .invalidRequest), (429, .throttled), (500, .serverError),
            (501, .invalidRequest), (502, .serverError), (503, .serverError), (504, .timeout), (507, .noSpace),
            (599, .serverError), (200, .serverError), (0, .serverError),
        ])
    func byStatus(_ status: Int, expected: StorageError.Code) throws {
        #expect(try failure(status, code: nil).storageError.code == expected)
    }

    @Test func of404WithoutAKeyIsNoMissingObject() throws {
        #expect(try failure(404, code: nil, key: nil).storageError.code == .misconfigured)
    }

    @Test func carriesKeyAndItselfAsTheCause() throws {
        let error = try failure(403, code: "AccessDenied").storageError
        #expect(error.key?.rawValue == "a/b")
        #expect((error.cause as? S3Failure)?.code == "AccessDenied")
    }

    @Test func tellsTheBucketsRegion() throws {
        let failure = try failure(301, code: "PermanentRedirect", headers: ["x-amz-bucket-region": "eu-west-1"])
        #expect(failure.region == "eu-west-1")
        #expect(failure.storageError.message.contains("'eu-west-1'"))
        let body =
            "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>us-west-2</Region></Error>"
        let response = HTTPResponse(head: HTTPResponseHead(status: 400), body: Array(body.utf8))
        #expect(S3Failure(response).region == "us-west-2")
    }

    @Test(arguments: ["", "eu west", "../x", "EU", "eu-1\u{301}", String(repeating: "a", count: 65)])
    func takesNoRegionThatIsNone(_ region: String) throws {
        var headers = HTTPHeaders()
        try headers.set("x-amz-bucket-region", value: region)
        #expect(try failure(301, code: nil, headers: headers).region == nil)
    }

    @Test func knowsCredentialsThatAreRefused() throws {
        #expect(try failure(400, code: "ExpiredToken").isAboutCredentials)
        #expect(try failure(403, code: "InvalidAccessKeyId").isAboutCredentials)
        #expect(try !failure(403, code: "RequestTimeTooSkewed").isAboutCredentials)
        #expect(try !failure(403, code: "AccessDenied").isAboutCredentials)
        #expect(try !failure(403, code: nil).isAboutCredentials)
    }

    @Test func knowsAClockThatIsWrong() throws {
        let late: HTTPHeaders = ["Date": "Sun, 06 Nov 1994 09:49:37 GMT"]
        let close: HTTPHeaders = ["Date": "Sun, 06 Nov 1994 08:59:37 GMT"]
        #expect(try failure(403, code: "RequestTimeTooSkewed", headers: late).isClockSkew)
        #expect(
            try failure(403, code: "RequestTimeTooSkewed", headers: late).serverDate == now.addingTimeInterval(3_600))
        #expect(try failure(403, code: nil, headers: late).isClockSkew)
        #expect(try !failure(403, code: nil, headers: close).isClockSkew)
        #expect(try !failure(404, code: nil, headers: late).isClockSkew)
        #expect(try !failure(403, code: "AccessDenied", headers: late).isClockSkew)
    }

    @Test func showsNoSecretAndNoQuery() throws {
        let credentials = S3Credentials(accessKeyID: "A", secretAccessKey: "SECRET/KEY", sessionToken: "TOKEN==")
        let message = try failure(
            403, code: "AccessDenied",
            message:
                "bad SECRET/KEY\u{301} and xTOKEN==x at https://h/b/k?X-Amz-Signature=abc&q=1 and /b?uploadId=u or "
                + "X-Amz-Credential=AKIA. Is it? \r\n\u{1B}[2J\u{202E}evil", credentials: credentials
        ).storageError.message
        for text in ["SECRET", "TOKEN", "abc", "q=1", "uploadId", "AKIA", "\r", "\n", "\u{1B}", "\u{202E}"] {
            #expect(!message.utf8.contains(text.utf8), "\(text)")
        }
        #expect(message.contains("https://h/b/k…"))
        #expect(message.contains("Is it? "))
    }

    @Test func showsNoSecretAsItsCode() throws {
        let credentials = S3Credentials(accessKeyID: "A", secretAccessKey: "SECRET")
        #expect(try !failure(400, code: "xSECRETx", credentials: credentials).storageError.message.contains("SECRET"))
    }

    @Test func showsAtMost200CharactersOfTheServer() throws {
        let message = try failure(400, code: "InvalidRequest", message: String(repeating: "x", count: 5_000))
            .storageError.message
        #expect(message.count { $0 == "x" } == 199)
    }

    @Test func ofAProxyIsToldByItsPage() {
        let page = Array("<html><body>Service Unavailable</body></html>".utf8)
        let head = HTTPResponseHead(status: 503, headers: ["Retry-After": "7"])
        let failure = S3Failure(HTTPResponse(head: head, body: page), signedAt: now)
        #expect(failure.code == nil)
        #expect(failure.storageError.code == .serverError)
        #expect(failure.storageError.retryAfter == .seconds(7))
        #expect(failure.storageError.message.contains("<html><body>Service Unavailable"))
    }

    @Test(
        "Retry-After is parsed as seconds or a date and limited to a day",
        arguments: [
            ("0", Duration.zero), ("120", .seconds(120)), (" 5 ", .seconds(5)), ("7200", .seconds(7_200)),
            ("86401", .seconds(86_400)), ("99999999999999999999", .seconds(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)),
            ("Mon, 07 Nov 1994 08:49:36 GMT", .seconds(86_399)), ("Tue, 08 Nov 1994 08:49:37 GMT", .seconds(86_400)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", nil), ("-1", nil),
            ("1.5", nil), ("soon", nil), ("", nil), ("1e3", nil), ("+5", nil),
        ])
    func retryAfter(_ field: String, expected: Duration?) throws {
        var headers = HTTPHeaders()
        try headers.set("retry-after", value: field)
        #expect(try failure(503, code: "SlowDown", headers: headers).storageError.retryAfter == expected)
    }
}
