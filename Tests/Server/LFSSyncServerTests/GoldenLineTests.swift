import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// Tests of every line and message of this version of the protocol. A change of one of them requires a new version or
/// an added member that older devices and servers ignore.
@Suite("Golden lines of version 1", .timeLimit(.minutes(10)))
struct GoldenLineTests {
    /// Returns the text with each id replaced by `#`.
    private func plain(_ text: String) -> String {
        text.replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "#")
    }

    private func lines(_ device: TestDevice, types: [String], resets: Bool = false) async throws -> [String] {
        try await device.lines(types: types.compactMap { SyncType($0) }, resets: resets).map(plain)
    }

    @Test("Rows, deletions and control lines have their golden text")
    func rows() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put(
                "RecipeV2", key: "r1",
                values: [
                    "title": .text("Æ \"q\"\n\\"), "servings": .integer(-4), "rating": .real(4.5),
                    "image": .blob([0, 255]), "note": .text("n"),
                ])
            try await device.put("RecipeV2", key: "r2", values: ["title": .text("")])
            let end =
                #"{"type":"SyncCompleteV1","ack":"SyncCompleteV1|account/#||1","#
                + ##""data":{"scopes":1,"history":"#"}}"##
            #expect(
                try await lines(device, types: ["RecipeV2"]) == [
                    #"{"type":"RecipeV2","ack":"RecipeV2|account/#|#|1","data":{"id":"r1","#
                        + #""title":"Æ \"q\"\n\\","servings":-4,"rating":4.5,"image":{"hex":"00ff"},"photoID":null,"#
                        + #""note":"n"}}"#,
                    #"{"type":"RecipeV2","ack":"RecipeV2|account/#|#|1","data":{"id":"r2","#
                        + #""title":"","servings":null,"rating":null,"image":null,"photoID":null,"note":null}}"#,
                    #"{"type":"SyncAckV1","ack":"RecipeV2|account/#|#|1","data":{"isFull":true}}"#, end,
                ])
            #expect(
                try await lines(device, types: ["RecipeV1"]).last { $0.contains("r2") }
                    == #"{"type":"RecipeV1","ack":"RecipeV1|account/#|#|1","data":{"id":"r2","#
                    + #""title":"","servings":null,"rating":null,"image":null,"photoID":null}}"#)
            try await device.acknowledge(try await device.delivery().tokens)
            try await device.push(.delete, type: "RecipeV2", key: "r1")
            #expect(
                try await lines(device, types: ["RecipeV2"]) == [
                    #"{"type":"RecipeDeleteV2","ack":"RecipeV2|account/#|#|1","data":{"id":"r1"}}"#,
                    #"{"type":"SyncAckV1","ack":"RecipeV2|account/#|#|1"}"#, end,
                ])
            #expect(
                try await lines(device, types: ["RecipeV2"], resets: true) == [
                    #"{"type":"SyncResetV1","ack":"SyncResetV1|account/#||1","data":{"reason":"requested"}}"#
                ])
        }
    }

    @Test("A file's row has its golden text")
    func file() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let hash = String(repeating: "a", count: 64)
            try await device.put(
                "FileV1", key: "f1",
                values: [
                    "name": .text("Sea"), "contentType": .text("image/png"), "byteCount": .integer(7),
                    "sha256": .text(hash), "key": .text("phone/f1"), "createdAt": .text("2026-01-02 03:04:05.678"),
                    "status": .text("remote"), "url": .text("https://store.example/phone/f1"),
                ])
            #expect(
                try await lines(device, types: ["FileV1"]).first
                    == #"{"type":"FileV1","ack":"FileV1|account/#|#|1","data":{"id":"f1","name":"Sea","#
                    + #""contentType":"image/png","byteCount":7,"sha256":"\#(hash)","key":"phone/f1","#
                    + #""createdAt":"2026-01-02 03:04:05.678","status":"remote","#
                    + #""url":"https://store.example/phone/f1","deviceID":null}}"#)
        }
    }

    @Test("Lines of shared scopes have their golden text")
    func scopes() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await ann.share("x", other: bob)
            let types = ["AlbumV1"]
            #expect(
                try await lines(bob.device, types: types) == [
                    #"{"type":"SyncAckV1","ack":"AlbumV1|account/#||1","data":{"isFull":true}}"#,
                    #"{"type":"AlbumV1","scope":"album/x","ack":"AlbumV1|album/x|#|1","data":{"id":"x","title":"x"}}"#,
                    #"{"type":"SyncAckV1","scope":"album/x","ack":"AlbumV1|album/x|#|1","data":{"isFull":true}}"#,
                    #"{"type":"SyncCompleteV1","ack":"SyncCompleteV1|account/#||1","#
                        + ##""data":{"scopes":2,"history":"#"}}"##,
                ])
            try await bob.sync()
            try await server.execute("UPDATE sync_scope SET prunedThrough = 'ffffffff-ffff-7fff-bfff-ffffffffffff'")
            let reset =
                #"{"type":"SyncResetV1","ack":"AlbumV1|album/x||2","data":{"reason":"retention","#
                + #""types":["AlbumV1"],"scopes":["album/x"]}}"#
            #expect(try await lines(bob.device, types: types).contains(reset))
            try await ann.unshare("x", other: bob)
            #expect(
                try await lines(bob.device, types: types).first
                    == #"{"type":"ScopeDeleteV1","scope":"album/x","ack":"ScopeDeleteV1|album/x||2"}"#)
        }
    }

    @Test("A failure and a heartbeat have their golden text")
    func control() throws {
        let session = SyncSession(
            id: "s", account: "a", epoch: 3, resetReason: nil, lastBatch: 0, lastBatchID: "", lastSequence: 0,
            seenAt: 0)
        var bytes: [UInt8] = []
        let lines = ControlLines(session: session)
        lines.failure(SyncStreamFailure("busy", message: "\"Later\"", isRetryable: true, retryAfter: 5), to: &bytes)
        lines.failure(SyncStreamFailure("gone", message: "Never.", isRetryable: false), to: &bytes)
        lines.heartbeat(to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                {"type":"SyncErrorV1","data":{"code":"busy","message":"\\"Later\\"","isRetryable":true,"retryAfter":5}}
                {"type":"SyncErrorV1","data":{"code":"gone","message":"Never.","isRetryable":false}}
                {"type":"SyncHeartbeatV1"}

                """)
    }

    private let position = "0197b214-ba2c-7c71-89d1-4bbb56a51d06"

    @Test("Stream requests, acks and changes have their golden text")
    func requests() throws {
        let token = try #require(SyncToken("RecipeV2|account/me|\(position)|3"))
        let type = try #require(SyncType("RecipeV2"))
        let older = try #require(SyncType("RecipeV1"))
        var request = SyncStreamRequest(types: [[type, older]])
        request.acks = SyncAckBatch(
            number: 41, id: "b", tokens: [token], account: SyncScope("account/me"), history: "h")
        request.resets = true
        request.isLive = true
        request.account = SyncScope("account/me")
        let batch =
            #"{"account":"account/me","acks":["RecipeV2|account/me|\#(position)|3"],"batch":41,"history":"h","id":"b"}"#
        let text =
            #"{"account":"account/me","acks":\#(batch),"live":true,"protocol":1,"reset":true,"#
            + #""types":["RecipeV2|RecipeV1"]}"#
        #expect(String(decoding: try WireFormat.encode(request), as: UTF8.self) == text)
        #expect(try WireFormat.decode(SyncStreamRequest.self, from: Data(text.utf8), limits: .sync) == request)
        #expect(SyncOwner.line(.account("me")) == #"{"account":"account/me"}"#)
        let mutations: [(SyncMutation, String)] = [
            (
                SyncMutation(
                    id: "m", sequence: 7, type: type, operation: .put, key: "r1", row: SyncRow(["title": .text("x")])),
                #"{"id":"m","seq":7,"type":"RecipeV2","op":"put","key":"r1","data":{"title":"x"}}"#
            ),
            (
                SyncMutation(
                    id: "m", sequence: 8, type: type, operation: .patch, key: "r1",
                    row: SyncRow(["rating": .real(.infinity)])),
                #"{"id":"m","seq":8,"type":"RecipeV2","op":"patch","key":"r1","#
                    + #""data":{"rating":{"real":"Infinity"}}}"#
            ),
            (
                SyncMutation(id: "m", sequence: 9, type: type, operation: .delete, key: "r1"),
                #"{"id":"m","seq":9,"type":"RecipeV2","op":"delete","key":"r1"}"#
            ),
            (
                SyncMutation(
                    id: "m", sequence: 9, type: type, operation: .delete, key: "r1",
                    seen: BaseVersion(scope: SyncScope("album/x"), position: token.position, after: 8)),
                #"{"id":"m","seq":9,"type":"RecipeV2","op":"delete","key":"r1","base":"\#(position)","#
                    + #""scope":"album/x","after":8}"#
            ),
            (
                SyncMutation(
                    id: "m", sequence: 9, type: type, operation: .patch, key: "r1", row: SyncRow(["title": .text("x")]),
                    seen: BaseVersion(position: .start)),
                #"{"id":"m","seq":9,"type":"RecipeV2","op":"patch","key":"r1","base":"","data":{"title":"x"}}"#
            ),
        ]
        for (mutation, text) in mutations {
            var bytes: [UInt8] = []
            mutation.write(to: &bytes)
            #expect(String(decoding: bytes, as: UTF8.self) == text + "\n")
            #expect(try Array(text.utf8).withUnsafeBytes { try SyncMutation($0) } == mutation)
        }
    }

    @Test("Results of changes and request failures have their golden text")
    func results() throws {
        let row = SyncRow(["id": .text("r1"), "servings": .integer(2)])
        let refusal = WireFailure(.init(rawValue: "forbidden"), message: "No.")
        let results: [(SyncMutationResult.Outcome, String)] = [
            (.applied(SyncPosition(position)), #"{"id":"m","seq":7,"result":"applied","updateID":"\#(position)"}"#),
            (.applied(nil), #"{"id":"m","seq":7,"result":"applied"}"#),
            (.conflict(row: row), #"{"id":"m","seq":7,"result":"conflict","row":{"id":"r1","servings":2}}"#),
            (.conflict(row: nil), #"{"id":"m","seq":7,"result":"conflict"}"#),
            (
                .rejected(refusal, row: row),
                #"{"id":"m","seq":7,"result":"rejected","code":"forbidden","message":"No.","#
                    + #""row":{"id":"r1","servings":2}}"#
            ),
            (
                .rejected(refusal, row: nil),
                #"{"id":"m","seq":7,"result":"rejected","code":"forbidden","message":"No."}"#
            ),
        ]
        for (outcome, text) in results {
            let result = SyncMutationResult(id: "m", sequence: 7, outcome)
            var bytes: [UInt8] = []
            result.write(to: &bytes)
            #expect(String(decoding: bytes, as: UTF8.self) == text + "\n")
            #expect(try Array(text.utf8).withUnsafeBytes { try SyncMutationResult($0) } == result)
        }
        guard case .whole(let data) = SyncReply(WireFailure(.unavailable, message: "Later.", retryAfter: 5)).body else {
            Issue.record("A failure is one object.")
            return
        }
        #expect(
            String(decoding: data, as: UTF8.self)
                == #"{"error":{"code":"unavailable","message":"Later."}}"# + "\n")
    }
}
