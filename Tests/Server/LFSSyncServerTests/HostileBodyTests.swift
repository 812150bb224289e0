import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Untrusted request bodies", .timeLimit(.minutes(10)))
struct HostileBodyTests {
    private static let good =
        #"{"id":"m1","seq":1,"type":"RecipeV2","op":"put","key":"r1","data":{"title":"Soup","rating":1.5}}"#

    private func statuses(_ body: Data, _ device: TestDevice) async -> [Int] {
        let service = device.service
        return [
            await service.push(body, token: device.token).status,
            await service.stream(body, token: device.token).status,
            await service.acknowledge(body, token: device.token).status,
            await service.digest(body, token: device.token).status,
        ]
    }

    @Test(
        "A mutation with an invalid sequence number is refused and not applied",
        arguments: [
            #""seq":-9223372036854775808"#, #""seq":9223372036854775807"#, #""seq":9007199254740993"#, #""seq":0"#,
            #""seq":1.5"#, #""seq":1e400"#, #""seq":NaN"#, #""seq":"1""#, #""seq":{"hex":"00"}"#,
        ])
    func numbers(sequence: String) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let body = Data((Self.good.replacingOccurrences(of: #""seq":1"#, with: sequence) + "\n").utf8)
            let status = await device.service.push(body, token: device.token).status
            #expect([400, 409].contains(status), "\(status)")
            #expect(try await device.delivery().items == [])
        }
    }

    /// `LFS_SYNC_FUZZ` sets the number of bodies and `LFS_SYNC_FUZZ_SEED` the first seed.
    @Test("Random bodies get a client error or success, and the server keeps working")
    func fuzz() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LFS_SYNC_FUZZ"].flatMap { Int($0) } ?? 400
        var random = TestStore.random(environment["LFS_SYNC_FUZZ_SEED"].flatMap { UInt64($0) } ?? 7)
        try await TestServer.run(options: SyncServiceOptions.unlimited) { server in
            let device = try await server.device()
            let seeds = [
                Self.good + "\n",
                #"{"account":"account/0197"}"# + "\n" + Self.good + "\n",
                Self.good.replacingOccurrences(of: #","data""#, with: #","base":"","scope":"album/x","after":1,"data""#)
                    + "\n",
                #"{"protocol":1,"types":["FileV1","RecipeV2|RecipeV1"],"acks":{"batch":1,"id":"x","acks":[]}}"#,
                #"{"batch":1,"id":"x","acks":["RecipeV2|account/1|0197b214-ba2c-7c71-89d1-4bbb56a51d06|0"]}"#,
            ]
            for round in 0..<rounds {
                let body = Data(random.mutated(Array(seeds[round % seeds.count].utf8)))
                for status in await statuses(body, device) {
                    #expect(
                        [200, 204, 400, 403, 409, 413, 422].contains(status),
                        "\(status): \(String(decoding: body, as: UTF8.self).debugDescription)")
                }
            }
            let fresh = try await server.device()
            #expect(try await fresh.put("RecipeV2", key: "last", values: ["title": .text("x")]).outcome.isApplied)
        }
    }
}

extension SyncServiceOptions {
    /// Options without a limit of requests.
    fileprivate static var unlimited: SyncServiceOptions {
        var options = SyncServiceOptions()
        options.requestsPerSecond = nil
        return options
    }
}

/// Fragments that break the structure of a message or inject text.
private let pieces = [
    "-9223372036854775808", "9223372036854775808", "1e999", "NaN", "null", "{}", "[]", "\"\"", "\u{0}", "\\u0000",
    "\\ud800", "\"\\", "{\"hex\":\"0\"}", "{\"real\":\"Infinity\"}", "' OR 1=1 --", "account/x", "../..", "|||",
    "\n",
    "\r\n", ",", ":", "\"id\":\"m1\",", String(repeating: "[", count: 100), String(repeating: "{\"a\":", count: 50),
].map { Array($0.utf8) }

extension RandomNumberGenerator {
    /// Returns the bytes with random changes, removals, repetitions or insertions.
    fileprivate mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            guard !bytes.isEmpty else { return bytes }
            let index = Int.random(in: 0..<bytes.count, using: &self)
            let end = Int.random(in: index...min(bytes.count, index + 12), using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &self)
            case 1: bytes.removeSubrange(index..<end)
            case 2: bytes.insert(contentsOf: bytes[index..<end], at: index)
            case 3: bytes.replaceSubrange(index..<end, with: pieces.randomElement(using: &self) ?? [])
            case 4: bytes.insert(contentsOf: pieces.randomElement(using: &self) ?? [], at: index)
            default: bytes.removeSubrange(index...)
            }
        }
        return bytes
    }
}
