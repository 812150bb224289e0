import Foundation
import LFS
import LFSHTTPStorage
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3

/// Tests of server faults during a download. The reader gets either the right bytes or an error.
@Suite("Downloads of files", .timeLimit(.minutes(10)))
struct DownloadFaultTests {
    private static let content = SampleBytes.make(2_500_000)
    private let content = DownloadFaultTests.content

    private func withFile(_ body: (FakeS3, ReadingHost, FileData) async throws -> Void) async throws {
        try await withFakeS3 { fake, storage in
            try await withTemporaryFolder { folder in
                try await ReadingHost.with(folder, storage: storage) { host in
                    let file = try await host.remoteFiles([content])[0]
                    fake.forgetOperations()
                    try await body(fake, host, file)
                    #expect(try host.unfinished == [])
                }
            }
        }
    }

    /// Returns the `Range` headers of the downloads, in order.
    private func ranges(_ fake: FakeS3) -> [String?] {
        fake.requests.filter { $0.method == "GET" && !$0.target.contains("?") }.map { $0.headers["range"] }
    }

    /// Leaves the first million bytes of the file, like an interrupted download.
    private func leavePartial(_ fake: FakeS3, host: ReadingHost, file: FileData) throws {
        let tag = try #require(fake.objects["/" + file.key]?.fields["etag"].flatMap(EntityTag.init))
        let incoming = host.folder.child("app.sqlite.lfs/incoming")
        try Data(content.prefix(1_000_000)).write(to: incoming.child(file.id.uuidString + ".part"))
        try Data(tag.text.utf8).write(to: incoming.child(file.id.uuidString + ".tag"))
    }

    /// Sends the head of a reply and part of its body, and disconnects.
    private static func cut(_ exchange: FakeExchange, after count: Int, resets: Bool = false) throws {
        let reply = try exchange.act()
        var text = "HTTP/1.1 \(reply.status) Text\r\nContent-Length: \(reply.body.count)\r\n"
        for (name, value) in reply.headers { text += "\(name): \(value)\r\n" }
        try exchange.connection.send(text + "\r\n")
        try exchange.connection.send(Array(reply.body.prefix(count)))
        if resets { exchange.connection.reset() } else { exchange.connection.hangUp() }
    }

    @Test("A download over a breaking connection resumes with the missing bytes")
    func cuts() async throws {
        try await withFile { fake, host, file in
            fake.fail(.get, times: 2) { try Self.cut($0, after: 500_000) }
            try await #expect(host.read(file) == content)
            // The engine discards its buffer when the connection breaks, so the offsets depend on the engine.
            let starts = ranges(fake).map { $0.flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0 }
            #expect(starts.count == 3 && starts == starts.sorted() && starts[2] <= 1_000_000, "\(starts)")
            for request in fake.requests where request.headers["range"] != nil {
                #expect(request.headers["range"]?.hasSuffix("-2499999") == true)
                #expect(request.headers["if-match"] == fake.objects["/" + file.key]?.fields["etag"])
            }
        }
    }

    @Test("A download succeeds after reset connections and error replies")
    func resets() async throws {
        try await withFile { fake, host, file in
            fake.fail(.get) { try Self.cut($0, after: 300_000, resets: true) }
            fake.fail(.get) { try $0.refuse(.error(503, code: "SlowDown")) }
            fake.fail(.get) { try $0.refuse(.page(502)) }
            try await #expect(host.read(file) == content)
        }
    }

    @Test("A whole object in reply to a range is accepted")
    func wholeInsteadOfRange() async throws {
        try await withFile { fake, host, file in
            try leavePartial(fake, host: host, file: file)
            fake.fail(.get) { exchange in
                let object = exchange.fake.objects[exchange.path]
                try exchange.refuse(FakeReply(200, headers: object?.fields ?? [:], object?.bytes ?? []))
            }
            try await #expect(host.read(file) == content)
            #expect(ranges(fake) == ["bytes=1000000-2499999"])
        }
    }

    @Test(
        "A reply with another range restarts the download",
        arguments: ["bytes 0-1499999/2500000", "bytes 1000001-2500000/2500001", "bytes */2500000", "nonsense"])
    func otherRange(_ field: String) async throws {
        try await withFile { fake, host, file in
            try leavePartial(fake, host: host, file: file)
            fake.fail(.get) { exchange in
                var reply = try exchange.act()
                reply.headers["content-range"] = field
                try exchange.send(reply)
            }
            try await #expect(host.read(file) == content)
            #expect(ranges(fake) == ["bytes=1000000-2499999", nil])
        }
    }

    @Test("A resumed download refused with 412 or 416 restarts", arguments: [412, 416])
    func refusedRange(_ status: Int) async throws {
        try await withFile { fake, host, file in
            try leavePartial(fake, host: host, file: file)
            fake.fail(.get) {
                try $0.refuse(.error(status, code: status == 412 ? "PreconditionFailed" : "InvalidRange"))
            }
            try await #expect(host.read(file) == content)
            #expect(ranges(fake) == ["bytes=1000000-2499999", nil])
        }
    }

    @Test("A replaced object is never assembled from two versions")
    func replaced() async throws {
        try await withFile { fake, host, file in
            let other = SampleBytes.make(2_500_000, seed: 2)
            try leavePartial(fake, host: host, file: file)
            fake.fail(.get) { exchange in
                try exchange.refuse(
                    FakeReply(
                        206, headers: ["etag": "\"other\"", "content-range": "bytes 1000000-2499999/2500000"],
                        Array(other[1_000_000...])))
            }
            try await #expect(host.read(file) == content)
            #expect(ranges(fake) == ["bytes=1000000-2499999", nil])
        }
    }

    enum Lie: CaseIterable, Sendable {
        case flipped, shorter, longer, empty, other
    }

    @Test("A reply with wrong bytes is an error, and the next attempt succeeds", arguments: Lie.allCases)
    func lies(_ lie: Lie) async throws {
        try await withFile { fake, host, file in
            for _ in 1...3 {
                fake.fail(.get) { exchange in
                    var reply = try exchange.act()
                    switch lie {
                    case .flipped: reply.body[Int.random(in: reply.body.indices)] ^= 1 << UInt8.random(in: 0..<8)
                    case .shorter: reply.body.removeLast()
                    case .longer: reply.body.append(7)
                    case .empty: reply.body = []
                    case .other: reply.body = SampleBytes.make(2_500_000, seed: 3)
                    }
                    try exchange.send(reply)
                }
                do {
                    _ = try await host.read(file)
                    Issue.record("The reply was accepted as the file.")
                } catch let error as LFSError {
                    #expect(error.code == .sourceChanged)
                    #expect(error.fileID == file.id)
                }
                #expect(try host.kept == [])
                #expect(try host.unfinished == [])
            }
            try await #expect(host.read(file) == content)
        }
    }

    @Test("A partial read checks its length and the object's size")
    func ranges() async throws {
        try await withFile { fake, host, file in
            try await #expect(host.lfs.bytes(of: file, range: 10..<20) == Data(content[10..<20]))
            fake.fail(.get) { exchange in
                try exchange.refuse(
                    FakeReply(
                        206, headers: ["etag": "\"other\"", "content-range": "bytes 10-19/2500001"],
                        [UInt8](repeating: 1, count: 10)))
            }
            await #expect(throws: LFSError.self) { try await host.lfs.bytes(of: file, range: 10..<20) }
            #expect(try host.kept == [])
        }
    }
}
