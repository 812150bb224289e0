import Foundation
import LFSWire
import Testing

@Suite("Messages of signed URLs")
struct SigningMessageTests {
    private let sha256 = String(repeating: "0f", count: 32)

    private func request(_ object: String) throws(WireFailure) -> SigningRequest {
        try WireFormat.decode(
            SigningRequest.self, from: Data(#"{"version":1,"operation":"upload","objects":[\#(object)]}"#.utf8),
            limits: .request)
    }

    private func refusal(_ object: String) throws -> WireFailure? {
        let objects = try request(object).objects
        guard case .refused(let failure)? = objects.first else { return nil }
        return failure
    }

    @Test func `A decoded signing request equals the encoded one`() throws {
        var object = SigningObject(key: "space/name", size: 3, sha256: sha256, md5: String(repeating: "a", count: 32))
        object.type = "image/jpeg"
        object.replace = true
        object.upload = "v1.a-b_c"
        object.number = 7
        object.partsSHA256 = sha256
        object.partsMD5 = String(repeating: "b", count: 32)
        object.prefix = "space/"
        object.continuation = "next"
        object.limit = 10
        let data = try WireFormat.encode(SigningRequest(.complete, objects: [object]))
        let again = try WireFormat.decode(SigningRequest.self, from: data, limits: .request)
        #expect(again.operation == .complete)
        #expect(try again.objects.map { try $0.get() } == [object])
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains(#""parts_sha256""#) && text.contains(#""parts_md5""#) && text.contains(#""version":1"#))
    }

    @Test func `A decoded signing reply equals the encoded one`() throws {
        let action = SigningAction(
            method: "PUT", href: "https://store.example/b/k?X-Sig=1", header: ["if-none-match": "*"], expiresIn: 900,
            proof: .init(header: "etag", value: "abc"))
        let answers: [SigningAnswer] = [
            .action(action, for: .upload), .parts(.init(upload: "t", partSize: 5)),
            .object(.init(key: "a/b", size: 3, sha256: sha256, entityTag: "x")), .done,
            .present([.init(number: 1, size: 5, sha256: sha256)]),
            .page(.init(objects: [.init(key: "a/b", size: 3)], next: "n")),
            .refused(.init(.throttled, message: "Later.", retryAfter: 3)),
        ]
        let data = try WireFormat.encode(SigningReplyBody(answers))
        #expect(
            try WireFormat.decode(SigningReplyBody.self, from: data, limits: .reply).objects.map { try $0.get() }
                == answers)
        let text = String(decoding: data, as: UTF8.self)
        for word in ["expires_in", "part_size", "entity_tag", "retry_after", #""actions":{"upload""#] {
            #expect(text.contains(word))
        }
    }

    @Test func `A decoded description of a signing server equals the encoded one`() throws {
        let description = SigningDescription(
            digests: [.sha256, .md5], largestBatch: 100, largestObject: 5 << 40,
            parts: .init(
                threshold: 32 << 20, smallest: 5 << 20, largest: 5 << 30, count: 10_000, digests: [.sha256]))
        let data = try WireFormat.encode(description)
        #expect(try WireFormat.decode(SigningDescription.self, from: data, limits: .reply) == description)
    }

    @Test(arguments: [
        #"{"size":-1}"#, #"{"size":9007199254740992}"#, #"{"size":1.5}"#, #"{"size":"3"}"#, #"{"size":true}"#,
        #"{"size":1e400}"#, #"{"sha256":"ab"}"#, #"{"sha256":"\#(String(repeating: "AB", count: 32))"}"#,
        #"{"md5":"\#(String(repeating: "g", count: 32))"}"#, #"{"key":7}"#, #"{"key":"a\nb"}"#, #"{"key":"ü/x"}"#,
        #"{"key":"\#(String(repeating: "k", count: 513))"}"#, #"{"upload":"a b"}"#, #"{"upload":""}"#, #"{"number":0}"#,
        #"{"limit":0}"#, #"{"replace":1}"#, #"{"type":"a\u0000b"}"#, #""text""#, "7", "[]",
    ])
    func `Only the objects of a signing request that break a rule are refused`(_ object: String) throws {
        let failure = try #require(try refusal(object))
        #expect(failure.code == .invalidRequest)
        let objects = try request("\(object),{\"key\":\"a/b\"}").objects
        #expect(try objects.last?.get().key == "a/b")
    }

    @Test func `The refusal of a signing request repeats no text of the request`() throws {
        let failure = try #require(try refusal(#"{"key":"canary\n"}"#))
        #expect(!failure.message.contains("canary"))
    }

    @Test(arguments: [
        "{}", "[]", #"{"version":2,"operation":"head","objects":[{}]}"#,
        #"{"version":1,"operation":"sign","objects":[{}]}"#,
        #"{"version":1,"operation":"head","objects":[]}"#, #"{"version":1,"operation":"head","objects":{}}"#,
        #"{"version":1,"operation":"head"}"#, #"{"version":"1","operation":"head","objects":[{}]}"#,
    ])
    func `A signing request that breaks the protocol is refused as a whole`(_ text: String) {
        #expect(throws: WireFailure.self) {
            try WireFormat.decode(SigningRequest.self, from: Data(text.utf8), limits: .request)
        }
    }

    @Test(arguments: [
        "ftp://h/x", "file:///etc/passwd", "//h/x", "https:///x", "https://u@h/x", "https://u:p@h/x", "https://h/x#f",
        "https://h/ x", "https://h/\\u0000", "javascript:1", "",
    ])
    func `An action whose URL is not a plain HTTP URL is refused`(_ href: String) {
        let text =
            #"{"version":1,"objects":[{"actions":{"upload":{"method":"PUT","href":"\#(href)","expires_in":9}}}]}"#
        #expect(throws: WireFailure.self) { try readAnswer(text) }
    }

    @Test(arguments: [
        #""method":"DELETE","header":{}"#, #""method":"PUT","header":{"a b":"c"}"#,
        #""method":"PUT","header":{"a":"b\r\nc"}"#,
        #""method":"PUT","header":{"a":1}"#, #""method":"PUT","proof":{"header":"x","value":""}"#,
        #""method":"PUT","proof":{"value":"x"}"#,
    ])
    func `An action with an unexpected method or invalid header fields is refused`(_ members: String) {
        #expect(throws: WireFailure.self) { try readReply(#"{"href":"https://h/x","expires_in":9,\#(members)}"#) }
    }

    private func readReply(_ action: String) throws(WireFailure) -> SigningAnswer? {
        try readAnswer(#"{"version":1,"objects":[{"actions":{"upload":\#(action)}}]}"#)
    }

    private func readAnswer(_ text: String) throws(WireFailure) -> SigningAnswer? {
        try WireFormat.decode(SigningReplyBody.self, from: Data(text.utf8), limits: .reply).objects.first?.get()
    }

    @Test func `Only its value, with or without quotation marks, meets a proof`() {
        let proof = SigningAction.Proof(header: "etag", value: "abc")
        #expect(proof.isMet(by: "abc") && proof.isMet(by: "\"abc\""))
        for reply in [nil, "", "\"", "abcd", "W/\"abc\"", "ABC"] { #expect(!proof.isMet(by: reply)) }
    }

    @Test func `A printed action shows neither its signature nor its header fields`() {
        let action = SigningAction(
            method: "PUT", href: "https://h/x?sig=canary", header: ["a": "canary"], expiresIn: 9,
            proof: .init(header: "e", value: "v"))
        var dumped = ""
        dump(action, to: &dumped)
        for text in ["\(action)", String(reflecting: action), dumped, "\(SigningAnswer.action(action, for: .upload))"] {
            #expect(!text.contains("canary"))
        }
    }
}
