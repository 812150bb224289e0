import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Server rules for files", .timeLimit(.minutes(10)))
struct FileRuleTests {
    /// Runs a body with Ann's phone, which has the file f1, her laptop with l1, and Bob's phone with b1.
    private func run(
        options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (TestServer, _ phone: TestDevice, _ laptop: TestDevice, _ bob: TestDevice) async throws -> Void
    ) async throws {
        try await TestServer.run(options: options) { server in
            let phone = try await server.device()
            let laptop = try await server.device()
            let bob = try await server.device(of: "bob")
            for (device, key, name) in [(phone, "phone/1", "f1"), (laptop, "laptop/1", "l1"), (bob, "bob/1", "b1")] {
                #expect(try await file(device, name: name, key: key).isApplied)
            }
            try await body(server, phone, laptop, bob)
        }
    }

    @discardableResult private func file(
        _ device: TestDevice, name: String, key: String, status: String = "local"
    ) async throws -> SyncMutationResult.Outcome {
        try await device.put("FileV1", key: name, values: row(key: key, status: status)).outcome
    }

    private func row(key: String, status: String) -> [String: SyncValue] {
        [
            "byteCount": .integer(1), "sha256": .text(String(repeating: "a", count: 64)), "key": .text(key),
            "createdAt": .text("2026"), "status": .text(status),
        ]
    }

    private let remote: [String: SyncValue] = ["status": .text("remote"), "url": .text("https://store.example/1")]

    @Test("The creator of a file sets its status and URL once")
    func uploaded() async throws {
        try await run { server, phone, laptop, bob in
            let outcome = try await phone.push(.patch, type: "FileV1", key: "f1", values: remote).outcome
            #expect(outcome.isApplied)
            // The same change again is accepted.
            #expect(try await phone.push(.patch, type: "FileV1", key: "f1", values: remote).outcome.isApplied)
            let other = try await phone.push(
                .patch, type: "FileV1", key: "f1", values: ["url": .text("https://evil.example")]
            ).outcome
            #expect(other.code == "forbidden")
        }
    }

    @Test("A status that goes back and a URL without a status are refused")
    func back() async throws {
        try await run { server, phone, laptop, bob in
            let url = try await phone.push(
                .patch, type: "FileV1", key: "f1", values: ["url": .text("https://store.example/1")]
            ).outcome
            #expect(url.code == "forbidden")
            try await phone.push(.patch, type: "FileV1", key: "f1", values: remote)
            for status in ["local", "lost"] {
                #expect(
                    try await phone.push(.patch, type: "FileV1", key: "f1", values: ["status": .text(status)]).outcome
                        .code == "forbidden")
            }
            #expect(try await file(phone, name: "f9", key: "phone/9", status: "lost").code == "invalid_request")
        }
    }

    @Test("A status from a session that did not make the file is refused")
    func foreign() async throws {
        try await run { (server, phone, laptop, bob) async throws in
            #expect(
                try await laptop.push(.patch, type: "FileV1", key: "f1", values: remote).outcome.code == "forbidden")
            #expect(try await bob.push(.patch, type: "FileV1", key: "f1", values: remote).outcome.code == "missing")
            #expect(try await server.text("SELECT status FROM lfs_file WHERE id = 'f1'") == "local")
        }
    }

    @Test("After a new sign-in the device's next session may set the status")
    func signIn() async throws {
        try await run { server, phone, laptop, bob in
            let next = try await server.device()
            let outcome = try await next.push(.patch, type: "FileV1", key: "f1", values: remote).outcome
            #expect(outcome.isApplied)
        }
    }

    @Test(
        "The content columns of a file never change",
        arguments: [
            ("key", SyncValue.text("phone/2")), ("byteCount", .integer(2)), ("sha256", .text("b")),
            ("createdAt", .null),
        ])
    func content(_ column: String, value: SyncValue) async throws {
        try await run { server, phone, laptop, bob in
            let outcome = try await phone.push(.patch, type: "FileV1", key: "f1", values: [column: value]).outcome
            #expect(outcome.code == "forbidden")
            // The change is refused even together with an allowed one.
            let both = try await phone.push(
                .patch, type: "FileV1", key: "f1", values: remote.merging([column: value]) { $1 }
            ).outcome
            #expect(both.code == "forbidden")
            #expect(try await file(phone, name: "f1", key: "phone/1").isApplied)
            #expect(
                try await laptop.push(.patch, type: "FileV1", key: "f1", values: ["name": .text("new")]).outcome
                    .isApplied)
        }
    }

    @Test("A file in another account's namespace is refused")
    func namespaces() async throws {
        try await run { (server, phone, laptop, bob) async throws in
            #expect(try await file(bob, name: "b2", key: "phone/2").code == "forbidden")
            #expect(try await file(laptop, name: "f2", key: "phone/2", status: "remote").isApplied)
            for key in ["", "phone", "/1", "phone/"] {
                #expect(try await file(phone, name: "f3", key: key).code == "invalid_request")
            }
        }
    }

    @Test("A file's key has at most 512 bytes")
    func longKey() async throws {
        try await run { (server, phone, laptop, bob) async throws in
            let rest = String(repeating: "x", count: 506)
            #expect(try await file(phone, name: "f2", key: "phone/\(rest)").isApplied)
            #expect(try await file(phone, name: "f3", key: "phone/\(rest)y").code == "invalid_request")
            #expect(try await file(phone, name: "f4", key: "\(rest)/phone").isApplied)
            #expect(try await file(phone, name: "f5", key: "\(rest)y/phone").code == "invalid_request")
            #expect(try await server.count("sync_namespace", where: "length(namespace) > 506") == 0)
        }
    }

    @Test("A file whose object the storage lacks cannot become remote")
    func storage() async throws {
        var options = SyncServiceOptions()
        options.objectExists = { $0.key == "phone/1" && $0.byteCount == 1 && $0.sha256.count == 64 }
        try await run(options: options) { server, phone, laptop, bob in
            #expect(try await laptop.push(.patch, type: "FileV1", key: "l1", values: remote).outcome.code == "missing")
            #expect(try await file(phone, name: "f2", key: "phone/2", status: "remote").code == "missing")
            let outcome = try await phone.push(.patch, type: "FileV1", key: "f1", values: remote).outcome
            #expect(outcome.isApplied)
        }
    }

    private func change(
        _ operation: SyncMutation.Operation, sequence: Int64, file: String = "f1", values: [String: SyncValue] = [:]
    ) throws -> SyncMutation {
        SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType("FileV1")), operation: operation,
            key: file, row: SyncRow(values))
    }

    /// Sends mutations at once, of which the last one sets the status.
    ///
    /// - Parameter existing: the only key in the storage.
    private func codes(
        _ existing: String, _ mutations: (_ first: Int64) throws -> [SyncMutation]
    ) async throws -> [String?] {
        var options = SyncServiceOptions()
        options.objectExists = { $0.key == existing }
        var codes: [String?] = []
        try await run(options: options) { server, phone, laptop, bob in
            codes = try await phone.send(try mutations(phone.sequence + 1)).map(\.outcome.code)
        }
        return codes
    }

    @Test("A put with another key does not change which object a stored file needs")
    func storedKey() async throws {
        let codes = try await codes("phone/2") { first in
            [
                try change(.put, sequence: first, values: row(key: "phone/2", status: "local")),
                try change(.patch, sequence: first + 1, values: remote),
            ]
        }
        #expect(codes == ["forbidden", "missing"])
    }

    @Test("The object of a deleted file does not stand for the one that replaces it")
    func replaced() async throws {
        let codes = try await codes("phone/1") { first in
            [
                try change(.delete, sequence: first),
                try change(.put, sequence: first + 1, values: row(key: "phone/2", status: "local")),
                try change(.patch, sequence: first + 2, values: remote),
            ]
        }
        #expect(codes == [nil, nil, "missing"])
    }

    @Test("The object of a refused file does not stand for the one that is created after it")
    func refusedFirst() async throws {
        let codes = try await codes("bob/1") { first in
            [
                try change(.put, sequence: first, file: "f2", values: row(key: "bob/1", status: "local")),
                try change(.put, sequence: first + 1, file: "f2", values: row(key: "phone/2", status: "local")),
                try change(.patch, sequence: first + 2, file: "f2", values: remote),
            ]
        }
        #expect(codes == ["forbidden", nil, "missing"])
    }

    @Test("An uploaded file whose checksum is a number is refused")
    func checksum() async throws {
        var options = SyncServiceOptions()
        options.objectExists = { _ in false }
        try await run(options: options) { server, phone, laptop, bob in
            let values = row(key: "phone/2", status: "remote").merging(["sha256": .integer(7)]) { $1 }
            let result = try await phone.put("FileV1", key: "f2", values: values)
            #expect(result.outcome.code == "invalid_request")
        }
    }

    @Test("A storage that does not answer makes the device retry the whole request")
    func silent() async throws {
        struct Silence: Error {}
        var options = SyncServiceOptions()
        options.objectExists = { _ in throw Silence() }
        try await run(options: options) { server, phone, laptop, bob in
            var line: [UInt8] = []
            SyncMutation(
                id: "m", sequence: 2, type: try #require(SyncType("FileV1")), operation: .patch, key: "f1",
                row: SyncRow(remote)
            ).write(to: &line)
            let reply = await phone.service.push(Data(line), token: phone.token)
            #expect(reply.status == 503 && reply.headers["retry-after"] == "30")
            #expect(try await phone.put("RecipeV2", key: "r1", values: ["title": .text("Soup")]).outcome.isApplied)
        }
    }

    @Test("An account has a limited number of sessions")
    func sessions() async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 3
        try await run(options: options) { server, phone, laptop, bob in
            _ = try await server.device()
            await #expect(throws: SyncSessionError.self) { _ = try await server.device() }
            _ = try await server.device(of: "bob")
            #expect(SyncServiceOptions().sessionLimit == 50)
        }
    }
}
