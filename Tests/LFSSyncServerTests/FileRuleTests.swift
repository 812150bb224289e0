import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("K: files, what the server takes", .timeLimit(.minutes(10)))
struct FileRuleTests {
    /// Ann's phone with the file f1, her laptop with l1, and Bob's phone with b1.
    private func run(
        options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (TestServer, _ phone: TestDevice, _ laptop: TestDevice, _ bob: TestDevice) async throws -> Void
    ) async throws {
        try await TestServer.run(options: options) { server in
            let phone = try await server.device()
            let laptop = try await server.device()
            let bob = try await server.device(of: "bob")
            for (device, key, name) in [(phone, "phone/1", "f1"), (laptop, "laptop/1", "l1"), (bob, "bob/1", "b1")] {
                #expect(try await file(device, name, key: key).isApplied)
            }
            try await body(server, phone, laptop, bob)
        }
    }

    @discardableResult private func file(
        _ device: TestDevice, _ name: String, key: String, status: String = "local"
    ) async throws -> SyncMutationResult.Outcome {
        try await device.put("FileV1", name, row(key: key, status: status)).outcome
    }

    private func row(key: String, status: String) -> [String: SyncValue] {
        [
            "byteCount": .integer(1), "sha256": .text(String(repeating: "a", count: 64)), "key": .text(key),
            "createdAt": .text("2026"), "status": .text(status),
        ]
    }

    private let remote: [String: SyncValue] = ["status": .text("remote"), "url": .text("https://store.example/1")]

    @Test("the device that made a file says that it is in the store; what its URL is comes with that, and stays")
    func uploaded() async throws {
        try await run { server, phone, laptop, bob in
            let outcome = try await phone.push(.patch, "FileV1", "f1", remote).outcome
            #expect(outcome.isApplied)
            // Said again, it is the same.
            #expect(try await phone.push(.patch, "FileV1", "f1", remote).outcome.isApplied)
            let other = try await phone.push(.patch, "FileV1", "f1", ["url": .text("https://evil.example")]).outcome
            #expect(other.code == "forbidden")
        }
    }

    @Test("5 a status that goes back is refused, and a URL without it")
    func back() async throws {
        try await run { server, phone, laptop, bob in
            let url = try await phone.push(.patch, "FileV1", "f1", ["url": .text("https://store.example/1")]).outcome
            #expect(url.code == "forbidden")
            try await phone.push(.patch, "FileV1", "f1", remote)
            for status in ["local", "lost"] {
                #expect(
                    try await phone.push(.patch, "FileV1", "f1", ["status": .text(status)]).outcome.code == "forbidden")
            }
            #expect(try await file(phone, "f9", key: "phone/9", status: "lost").code == "invalid_request")
        }
    }

    @Test("6 a status from a session that did not make the file is refused, of the same account and of another")
    func foreign() async throws {
        try await run { (server, phone, laptop, bob) async throws in
            #expect(try await laptop.push(.patch, "FileV1", "f1", remote).outcome.code == "forbidden")
            #expect(try await bob.push(.patch, "FileV1", "f1", remote).outcome.code == "missing")
            #expect(try await server.text("SELECT status FROM lfs_file WHERE id = 'f1'") == "local")
        }
    }

    @Test("6 after a new sign-in the device's next session has its namespace, although the old one is there still")
    func signIn() async throws {
        try await run { server, phone, laptop, bob in
            let next = try await server.device()
            let outcome = try await next.push(.patch, "FileV1", "f1", remote).outcome
            #expect(outcome.isApplied)
        }
    }

    @Test(
        "what a file is never changes",
        arguments: [
            ("key", SyncValue.text("phone/2")), ("byteCount", .integer(2)), ("sha256", .text("b")),
            ("createdAt", .null),
        ])
    func content(_ column: String, _ value: SyncValue) async throws {
        try await run { server, phone, laptop, bob in
            let outcome = try await phone.push(.patch, "FileV1", "f1", [column: value]).outcome
            #expect(outcome.code == "forbidden")
            // Nor along with what the device may say.
            let both = try await phone.push(.patch, "FileV1", "f1", remote.merging([column: value]) { $1 }).outcome
            #expect(both.code == "forbidden")
            #expect(try await file(phone, "f1", key: "phone/1").isApplied)
            #expect(try await laptop.push(.patch, "FileV1", "f1", ["name": .text("new")]).outcome.isApplied)
        }
    }

    @Test("a file below the namespace of another account is refused; a device may bring back one of the same account")
    func namespaces() async throws {
        try await run { (server, phone, laptop, bob) async throws in
            #expect(try await file(bob, "b2", key: "phone/2").code == "forbidden")
            #expect(try await file(laptop, "f2", key: "phone/2", status: "remote").isApplied)
            for key in ["", "phone", "/1", "phone/"] {
                #expect(try await file(phone, "f3", key: key).code == "invalid_request")
            }
        }
    }

    @Test("7 what the storage does not have is not remote, neither at first nor later")
    func storage() async throws {
        var options = SyncServiceOptions()
        options.objectExists = { $0.key == "phone/1" && $0.byteCount == 1 && $0.sha256.count == 64 }
        try await run(options: options) { server, phone, laptop, bob in
            #expect(try await laptop.push(.patch, "FileV1", "l1", remote).outcome.code == "missing")
            #expect(try await file(phone, "f2", key: "phone/2", status: "remote").code == "missing")
            let outcome = try await phone.push(.patch, "FileV1", "f1", remote).outcome
            #expect(outcome.isApplied)
        }
    }

    @Test("7 a storage that does not answer is no verdict: the whole request comes again")
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
            #expect(try await phone.put("RecipeV2", "r1", ["title": .text("Soup")]).outcome.isApplied)
        }
    }

    @Test("M7 an account has fifty sessions")
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
