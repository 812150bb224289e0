import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Untrusted signing servers and proxies", .timeLimit(.minutes(10)))
struct HostileServerTests {
    /// Returns the outcome of every call when the script answers each POST.
    private func errors(_ reply: @escaping FakeSigner.Script) async throws -> [StorageError?] {
        let fake = FakeSigner { request, fake in request.method == .post ? try reply(request, fake) : nil }
        fake.state.withLock { $0.objects["space/file"] = [1] }
        let storage = try fake.storage()
        let errors = [
            try await storageError { try await storage.put([1]) },
            try await storageError { try await storage.contents() },
            try await storageError { try await storage.head(.sample()) },
            try await storageError { try await storage.delete(.sample(), abandoning: nil) },
            try await storageError { try await storage.list(ListRequest(prefix: "space/")) },
        ]
        #expect(fake.objects.count == 1)
        return errors
    }

    @Test(
        "A malformed reply is a retryable error in every operation",
        arguments: [
            "", "[]", "{", "{}", "null", "{\"version\":1}", "{\"version\":2,\"objects\":[{}]}",
            "{\"version\":1,\"objects\":[]}", "{\"version\":1,\"objects\":[{},{}]}", "{\"version\":1,\"objects\":{}}",
            "{\"version\":1,\"objects\":[{\"object\":{\"key\":\"space/other\",\"size\":1}}]}",
            "{\"version\":1,\"objects\":[{\"object\":{\"key\":\"space/file\",\"size\":-1}}]}",
            "{\"version\":1,\"objects\":[{\"object\":{\"key\":\"space/file\",\"size\":1e99}}]}",
            "{\"version\":1,\"objects\":[{\"actions\":{\"upload\":{\"method\":\"DELETE\",\"href\":\"https://s/\"}}}]}",
            "{\"version\":1,\"version\":1,\"objects\":[{}]}", String(repeating: "[", count: 100_000),
        ])
    func nonsense(_ body: String) async throws {
        let errors = try await errors { _, _ in
            FakeSigner.reply(200, text: body, headers: ["content-type": "application/json"])
        }
        for (index, error) in errors.enumerated() where !(index == 3 && error == nil) {
            #expect(error?.code == .serverError, "\(error?.message ?? "no error")")
            #expect(error?.isRetryable == true)
        }
        // A plain "done" is a valid reply only to a deletion.
        #expect(errors[3] != nil || body.hasPrefix("{\"version\":1,\"objects\":[{"))
    }

    @Test("A malformed answer in a batch does not affect the other answers")
    func oneOfMany() async throws {
        let clock = ManualClock()
        let fake = FakeSigner(clock: clock) { request, fake in
            guard request.method == .post, var objects = try fake.answers(to: request), objects.count == 3 else {
                return nil
            }
            objects[1] = ["object": ["key": "space/file", "size": -1]]
            let body = try JSONSerialization.data(withJSONObject: ["version": 1, "objects": objects])
            return FakeSigner.reply(
                200, text: String(decoding: body, as: UTF8.self), headers: ["content-type": "application/json"])
        }
        fake.state.withLock { state in
            for name in 0..<3 { state.objects["space/\(name)"] = [UInt8(name)] }
        }
        let storage = try fake.storage()
        try await runningFreely(clock) { _ = try await storage.client.description() }
        let codes = try await withThrowingTaskGroup(of: (Int, StorageError.Code?).self) { group in
            for name in 0..<3 {
                group.addTask { (name, try await storageError { try await storage.head(.sample("\(name)")) }?.code) }
            }
            await clock.waitForSleepers()
            // All requests are in the batch before its time ends.
            try await yield(while: storage.client.gathering(.head) < 3)
            clock.advance(by: SignRequestBatcher<Int, Int>.window)
            return try await group.reduce(into: [Int: StorageError.Code?]()) { $0[$1.0] = $1.1 }
        }
        #expect(fake.asked(.head) == [3])
        #expect(codes.values.filter { $0 == nil }.count == 2)
        #expect(codes.values.filter { $0 == .serverError }.count == 1)
    }

    @Test("An HTML page of a proxy answers no signing request", arguments: [200, 302, 307, 403, 404, 407, 500, 511])
    func page(_ status: Int) async throws {
        let errors = try await errors { _, _ in
            FakeSigner.reply(
                status, text: "<html>sign in</html>",
                headers: ["content-type": "text/html", "location": "https://evil/"])
        }
        for error in errors {
            #expect([.unreachable, .misconfigured, .serverError].contains(error?.code), "\(error?.message ?? "none")")
        }
    }

    @Test("Redirects of the signing server and of its store are not followed")
    func redirect() async throws {
        let fake = FakeSigner { request, _ in
            request.origin.host == "store"
                ? FakeSigner.reply(307, text: "", headers: ["location": "https://evil/"]) : nil
        }
        #expect(try await storageError { try await fake.storage().put([1]) }?.code == .unreachable)
        #expect(fake.requests.allSatisfy { ["app", "store"].contains($0.origin.host) })
    }

    @Test("A busy or unavailable server sets the retry time")
    func busy() async throws {
        for (status, code) in [(429, .throttled), (503, .unreachable)] as [(Int, StorageError.Code)] {
            let errors = try await errors { _, _ in
                var reply = try FakeSigner.json(
                    SigningRefusal(WireFailure(.throttled, message: "Later.")), status: status)
                reply.head.headers.append(received: "retry-after", "7")
                return reply
            }
            for error in errors {
                #expect(error?.code == code)
                #expect(error?.retryAfter == .seconds(7))
            }
        }
    }

    @Test(
        "An action whose URL is not HTTPS to a server is refused",
        arguments: [
            "http://store/x", "ftp://store/x", "file:///etc/passwd", "https://user:pass@store/x", "https://store/x#y",
            "https:///x", "javascript:alert(1)", "https://store/a b", "https://store/\u{0}", "//store/x", "x", "",
            "https://store/\r\nx: y",
        ])
    func href(_ href: String) async throws {
        let errors = try await errors { request, _ in
            let operation = String(decoding: try FakeSigner.bytes(of: request.body), as: UTF8.self)
            let (name, method) = operation.contains("\"upload\"") ? ("upload", "PUT") : ("download", "GET")
            return FakeSigner.reply(
                200, text: try Self.action(name, method: method, href: href),
                headers: ["content-type": "application/json"])
        }
        for error in errors.prefix(2) { #expect(error?.code == .serverError, "\(error?.message ?? "no error")") }
    }

    @Test(
        "An action with a reserved or malformed header is refused",
        arguments: [
            ["host": "evil"], ["transfer-encoding": "chunked"], ["content-length": "2"], ["connection": "close"],
            ["expect": "100-continue"], ["a b": "c"], ["x": "a\r\nb: c"], ["x": "a\u{0}"], ["range": "bytes=0-0"],
            ["If-Match": "x"], ["x": String(repeating: "a", count: 10_000)],
        ])
    func fields(_ header: [String: String]) async throws {
        let errors = try await errors { request, _ in
            let operation = String(decoding: try FakeSigner.bytes(of: request.body), as: UTF8.self)
            let (name, method) = operation.contains("\"upload\"") ? ("upload", "PUT") : ("download", "GET")
            return FakeSigner.reply(
                200, text: try Self.action(name, method: method, href: "https://store/x", header: header),
                headers: ["content-type": "application/json"])
        }
        for error in errors.prefix(2) { #expect(error?.code == .serverError, "\(error?.message ?? "no error")") }
    }

    private static func action(
        _ name: String, method: String, href: String, header: [String: String] = [:]
    ) throws -> String {
        let action: [String: Any] = ["method": method, "href": href, "header": header, "expires_in": 900]
        let answer: [String: Any] = ["version": 1, "objects": [["actions": [name: action]]]]
        return String(decoding: try JSONSerialization.data(withJSONObject: answer), as: UTF8.self)
    }

    @Test(
        "Part sizes beyond the server's own limits are refused",
        arguments: [
            (1, 1), (0, 1), (-1, 1), (1 << 40, 1), (3, 4),
        ])
    func parts(_ partSize: Int64, smallest: Int64) async throws {
        let fake = FakeSigner()
        fake.state.withLock { state in
            state.description.parts = .init(threshold: 1, smallest: smallest, largest: max(smallest, 1 << 30), count: 3)
            state.partSize = partSize
        }
        let error = try await storageError { try await fake.storage().put([1, 2, 3, 4]) }
        #expect(error?.code == .serverError, "\(error?.message ?? "no error")")
        #expect(!fake.requests.contains { $0.method == .put })
    }

    @Test("A list with more parts than the upload has is refused")
    func tooManyParts() async throws {
        let fake = FakeSigner { request, _ in
            guard request.method == .post,
                String(decoding: try FakeSigner.bytes(of: request.body), as: UTF8.self).contains("\"state\"")
            else { return nil }
            let parts = (1...50).map { SigningAnswer.Part(number: $0, size: 1) }
            return try FakeSigner.json(SigningReplyBody([.present(parts)]))
        }
        fake.cut(from: 1)
        let bytes = SampleBytes.make(2 << 20)
        let checkpoint = PartsCheckpoint(upload: "upload-1", partSize: 1 << 20, try UploadSource.temporary(bytes))
        let error = try await storageError {
            try await fake.storage().put(bytes, session: try SavedCheckpoint(checkpoint).session)
        }
        #expect(error?.code == .serverError)
    }

    @Test("A reply about an object of other content fails the upload")
    func otherObject() async throws {
        let answers: [SigningAnswer.Object] = [
            .init(key: "space/file", size: 2, sha256: SampleBytes.sha256([1])),
            .init(key: "space/file", size: 1, sha256: SampleBytes.sha256([2])),
        ]
        for answer in answers {
            let fake = FakeSigner { request, _ in
                request.method == .post ? try FakeSigner.json(SigningReplyBody([.object(answer)])) : nil
            }
            #expect(try await storageError { try await fake.storage().put([1]) }?.code == .integrity)
        }
    }

    @Test(
        "A refusal of the signing server is translated into its storage error",
        arguments: [
            ("missing", StorageError.Code.missing), ("forbidden", .forbidden), ("invalid_key", .invalidKey),
            ("invalid_request", .invalidRequest), ("too_large", .tooLarge), ("throttled", .throttled),
            ("no_space", .noSpace), ("unavailable", .unreachable), ("timeout", .timeout),
            ("server_error", .serverError),
            ("something_new", .serverError),
        ])
    func refusals(_ code: String, meaning: StorageError.Code) async throws {
        let errors = try await errors { _, _ in
            try FakeSigner.json(
                SigningReplyBody([
                    .refused(WireFailure(.init(rawValue: code), message: "No\u{1B}[2J \u{202E}way.", retryAfter: 3))
                ]))
        }
        for error in errors {
            #expect(error?.code == meaning)
            #expect(error?.retryAfter == .seconds(3))
            #expect(error?.message.contains("\u{1B}") == false)
        }
    }

    @Test("Plain HTTP and invalid URLs are refused without repeating a token")
    func plain() throws {
        for text in ["http://app/lfs", "ftp://app/lfs", "https://user:canarytoken@app/lfs", "https://app/lfs?x=y"] {
            let error = #expect(throws: StorageError.self) {
                try SignedURLStorage(
                    server: URL(string: text).unsafelyUnwrapped, authorization: .bearer { _ in Canary.token })
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains(Canary.token) == false)
        }
    }

    @Test("A file above the server's size limit is not sent")
    func tooLarge() async throws {
        let fake = FakeSigner()
        fake.state.withLock { $0.description.largestObject = 2 }
        #expect(try await storageError { try await fake.storage().put([1, 2, 3]) }?.code == .tooLarge)
        #expect(fake.asked(.upload) == [])
    }
}
