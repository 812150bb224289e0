import Foundation
import LFSStorage
import LFSWire
import Logging
import Synchronization
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Untrusted requests")
struct RequestTests {
    @Test(arguments: [
        ("", 400), ("{", 400), ("null", 400), ("[]", 400),
        (#"{"version":1,"operation":"list","objects":[{},{}]}"#, 413),
        (#"{"version":1,"version":1,"operation":"head","objects":[{}]}"#, 400),
        (
            #"{"version":1,"operation":"head","objects":[{}\#(String(repeating: ",{}", count: 100))]}"#,
            413
        ),
        (String(repeating: "[", count: 1_000), 400), (String(repeating: " ", count: (1 << 20) + 1), 413),
        (#"{"version":9,"operation":"head","objects":[{}]}"#, 400),
    ])
    func `A message that breaks the protocol is refused as a whole in its reply format`(_ text: String, _ status: Int)
        async throws
    {
        try await TestStore(server: nil).open { open in
            let reply = try await open.service().answer(Data(text.utf8), caller: "alice")
            #expect(reply.status == status)
            _ = try WireFormat.decode(SigningRefusal.self, from: reply.body, limits: .reply)
        }
    }

    @Test(arguments: [
        "../etc/passwd", "space/../x", "/space/x", "space//x", "space", "", "space/.hidden", ".uploads/x", "Space/x",
        "space/x y", "space/%2e%2e/x", "space/x\\y", "space/" + String(repeating: "k", count: 510),
    ])
    func `An invalid key is refused, and the other keys of the request are answered`(_ key: String) async throws {
        try await TestStore(server: nil).open { open in
            for operation in [SigningOperation.upload, .download, .head, .confirm, .delete] {
                let objects = [Sample(1).object(key), Sample(1).object("space/good")]
                let answers = try await open.service().ask(operation, objects: objects)
                #expect([.invalidKey, .invalidRequest].contains(answers[0].error?.code))
                #expect([nil, .missing].contains(answers[1].error?.code))
            }
        }
    }

    @Test func `A prefix that does not begin with a complete namespace is refused`() async throws {
        try await TestStore(server: nil).open { open in
            for prefix in ["", "spa", "/", "../", "space", "space/../", "claims/", "space//"] {
                var list = SigningObject()
                list.prefix = prefix
                let code = try await open.service().ask(.list, object: list).error?.code
                #expect(code == .invalidRequest || code == .forbidden, "\(prefix)")
            }
        }
    }

    @Test func `Requests with random members do not crash the signing service`() async throws {
        try await TestStore(server: nil).open { open in
            let service = try open.service()
            var generator = SeededGenerator(seed: 14)
            let words = [
                "key", "size", "sha256", "upload", "number", "prefix", "limit", "replace", "continuation", "x",
            ]
            let values = [
                "1", "-1", "null", "\"a/b\"", "{}", "[1]", "true", "1e999", "9007199254740993", "\"\"", "\"a.b\"",
            ]
            for _ in 0..<2_000 {
                let operation = SigningOperation.allCases.randomElement(using: &generator)?.rawValue ?? ""
                let members = Set((0..<4).map { _ in words.randomElement(using: &generator) ?? "" })
                    .map { "\"\($0)\":\(values.randomElement(using: &generator) ?? "1")" }
                let text =
                    #"{"version":1,"operation":"\#(operation)","objects":[{\#(members.joined(separator: ","))}]}"#
                let reply = await service.answer(Data(text.utf8), caller: "alice")
                #expect([200, 400, 413].contains(reply.status))
            }
        }
    }

    // MARK: Limits

    @Test func `A caller above its rate gets the time to retry, and other callers are served`() async throws {
        try await TestStore(server: nil).open { open in
            let uptime = Mutex(Duration.zero)
            let service = try open.service(uptime: { uptime.withLock { $0 } }) {
                $0.burst = 20
                $0.objectsPerSecond = 2
            }
            let body = try WireFormat.encode(
                SigningRequest(.head, objects: Array(repeating: SigningObject(key: "space/one"), count: 15)))
            #expect(await service.answer(body, caller: "alice").status == 200)
            let refused = await service.answer(body, caller: "alice")
            #expect(refused.status == 429 && refused.headers["retry-after"] == "5")
            #expect(await service.answer(body, caller: "bob").status == 200)
            uptime.withLock { $0 = .seconds(5) }
            #expect(await service.answer(body, caller: "alice").status == 200)
        }
    }

    @Test func `A caller's open bytes stay within the limit until they expire`() async throws {
        try await TestStore(server: nil).open { open in
            let uptime = Mutex(Duration.zero)
            let service = try open.service(uptime: { uptime.withLock { $0 } }) {
                $0.openBytes = 1_500
                $0.creationBytes = 0
            }
            let sample = Sample(1_000)
            var object = sample.object("space/one")
            object.replace = true
            let action = try #require(try await service.ask(.upload, object: object).action(for: .upload))
            #expect(try await open.send(action, sample.bytes, service: service).status == 200)
            // The URL is the same, but each body counts.
            let refused = try await open.send(action, sample.bytes, service: service)
            #expect(refused.status == 429 && refused.headers["retry-after"] == "900")
            uptime.withLock { $0 = .seconds(901) }
            #expect(try await open.send(action, sample.bytes, service: service).status == 200)
        }
    }

    @Test func `New namespaces and begun uploads count as open bytes`() async throws {
        try await TestStore(server: nil).open { open in
            let uptime = Mutex(Duration.zero)
            let service = try open.service(uptime: { uptime.withLock { $0 } }) { $0.openBytes = 4 * $0.creationBytes }
            var codes: [WireFailure.Code?] = []
            for number in 0..<6 {
                let answer = try await service.ask(.upload, object: Sample(1).object("space\(number)/one"))
                codes.append(answer.error?.code)
            }
            #expect(codes == [nil, nil, nil, nil, .throttled, .throttled])
            let claims = try await open.backend.objects.storage.list(ListRequest(prefix: "claims/"))
            #expect(claims.objects.count == 4)
            // A namespace costs nothing after its first file.
            #expect(try await service.ask(.upload, object: Sample(1).object("space0/two")).error == nil)
            let large = Sample((1 << 20) + 1).object("space0/large")
            #expect(try await service.ask(.upload, object: large).error?.code == .throttled)
            uptime.withLock { $0 = .seconds(901) }
            #expect(try await service.ask(.upload, object: large).parts != nil)
        }
    }

    @Test func `An object above the limit of the signing service is refused`() async throws {
        try await TestStore(server: nil).open { open in
            let service = try open.service(uptime: { .zero }) { $0.largestObject = 999 }
            #expect(try await service.ask(.upload, object: Sample(1_000).object("space/one")).error?.code == .tooLarge)
            var huge = Sample(1).object("space/one")
            huge.size = WireFormat.largestNumber
            #expect(try await open.service().ask(.upload, object: huge).error?.code == .tooLarge)
        }
    }

    // MARK: Secrets

    @Test("No secret and no URL appears in the log or in an error", arguments: TestStore.all)
    func canary(_ store: TestStore) async throws {
        try await store.open { open in
            let lines = LogLines()
            let service = try open.service(Logger(label: "canary") { _ in lines })
            let sample = Sample(store.largeByteCount)
            var secrets: [String] = ["alice-canary", "Signature", "signature=", "X-Amz", "expires="]
            let small = try #require(
                try await service.ask(.upload, object: Sample(10).object("space/small"), as: "alice-canary").action(
                    for: .upload))
            let parts = try #require(
                try await service.ask(.upload, object: sample.object("space/large"), as: "alice-canary").parts)
            secrets += [small.href, parts.upload]
            let query = try #require(URLComponents(string: small.href)?.percentEncodedQuery)
            secrets += query.split(separator: "&").map(String.init).filter { $0.utf8.count > 20 }
            for operation in SigningOperation.allCases {
                var object = sample.object("space/large")
                object.upload = parts.upload
                object.number = 2
                object.prefix = "space/"
                _ = try await service.ask(operation, object: object, as: "alice-canary")
                _ = try await service.ask(operation, object: object, as: "bob")
            }
            _ = try await open.send(small, [1], service: service)
            _ = try await open.send(small, href: small.href + "0", service: service)
            let text = lines.text
            #expect(text.contains("outcome=") && text.contains("space/large"))
            for secret in secrets { #expect(!text.contains(secret), "\(secret) is in the log") }
        }
    }
}

/// A recorder of log lines. The mutex owns its state.
final class LogLines: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        lines.withLock { $0.append("\(event.level) \(event.message) \(fields)") }
    }
}
