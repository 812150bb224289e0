import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Partial downloads", .timeLimit(.minutes(10)))
struct PartialFileTests {
    private static let size = Int(IncomingFile.resumableByteCount) + 300_000
    private static let content = SampleBytes.make(size)
    private static let sha256 = SampleBytes.sha256(content)
    private let content = PartialFileTests.content
    private let id = FileID.make()

    private func withStore(_ body: (LocalStore) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await body(try LocalStore(at: folder.child("app.lfs").path, databaseID: "one"))
        }
    }

    private func incoming(_ store: LocalStore) throws -> IncomingFile {
        try IncomingFile(id, byteCount: Int64(Self.size), in: store)
    }

    private func write(_ bytes: some Sequence<UInt8>, to file: IncomingFile) throws {
        try Array(bytes).withUnsafeBytes { try file.write($0) }
    }

    /// Leaves the first bytes in the store, as an interrupted download does.
    private func leave(_ count: Int, tag: String? = "v1", in store: LocalStore) throws {
        let file = try incoming(store)
        if let tag { file.begin(entityTag: tag) }
        try write(content.prefix(count), to: file)
        try file.leave()
    }

    private func names(_ store: LocalStore) throws -> [String] {
        try TestSupport.names(in: URL(fileURLWithPath: store.incoming.path))
    }

    @Test("A partial download continues after its last byte and is verified as a whole")
    func goesOn() async throws {
        try await withStore { store in
            try leave(400_000, in: store)
            #expect(try names(store) == ["\(id).part", "\(id).tag"])
            let file = try incoming(store)
            #expect(file.byteCount == 400_000)
            #expect(file.entityTag == "v1")
            file.begin(entityTag: "v1")
            try write(content.dropFirst(400_000), to: file)
            try await file.finish(sha256: Self.sha256)
            #expect(try Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == Data(content))
            #expect(try names(store) == [])
        }
    }

    @Test("A partial download without an entity tag is removed")
    func unknownVersion() async throws {
        try await withStore { store in
            try leave(400_000, tag: nil, in: store)
            #expect(try names(store) == [])
        }
    }

    @Test("A partial download with a missing tag or too many bytes starts over", arguments: [true, false])
    func unusable(_ hasLostItsTag: Bool) async throws {
        try await withStore { store in
            try leave(400_000, in: store)
            if hasLostItsTag {
                try store.incoming.remove("\(id).tag")
            } else {
                let part = try store.incoming.openOrCreate("\(id).part")
                try part.truncate(to: Int64(Self.size) + 1)
            }
            let file = try incoming(store)
            #expect(file.byteCount == 0)
            #expect(file.entityTag == nil)
            try write(content, to: file)
            try await file.finish(sha256: Self.sha256)
            #expect(try names(store) == [])
        }
    }

    @Test("A complete download that was interrupted before its end is only verified")
    func complete() async throws {
        try await withStore { store in
            try leave(Self.size, in: store)
            try store.incoming.remove("\(id).tag")
            let file = try incoming(store)
            #expect(file.byteCount == Int64(Self.size))
            try await file.finish(sha256: Self.sha256)
            #expect(try names(store) == [])
        }
    }

    @Test("A partial download accepts no bytes of another version")
    func otherVersion() async throws {
        try await withStore { store in
            try leave(400_000, in: store)
            do {
                let file = try incoming(store)
                file.begin(entityTag: "v2")
                let error = #expect(throws: FileError.self) { try write(content.dropFirst(400_000), to: file) }
                #expect(error?.code == .sourceChanged)
                #expect(file.byteCount == 400_000)
                try file.restart()
                file.begin(entityTag: "v2")
                try write(content.prefix(100), to: file)
                try file.leave()
            }
            let next = try incoming(store)
            #expect(next.entityTag == "v2")
            #expect(next.byteCount == 100)
        }
    }

    @Test("A second writer writes its own partial file and leaves nothing")
    func twoWriters() async throws {
        try await withStore { store in
            let first = try incoming(store)
            first.begin(entityTag: "v1")
            try write(content.prefix(10), to: first)
            let second = try incoming(store)
            second.begin(entityTag: "v1")
            #expect(second.byteCount == 0)
            try write(content, to: second)
            #expect(try names(store).count == 3)
            try await second.finish(sha256: Self.sha256)
            try write(content.dropFirst(10), to: first)
            try await first.finish(sha256: Self.sha256)
            #expect(try names(store) == [])
            #expect(try Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == Data(content))
            let third = try IncomingFile(FileID.make(), byteCount: 10, in: store)
            third.begin(entityTag: "v1")
            try write(content.prefix(5), to: third)
            try third.leave()
            #expect(try names(store) == [], "downloading a small file again is as fast")
        }
    }

    @Test("A partial file that also has its final name is never written to")
    func twoNames() async throws {
        try await withStore { store in
            try leave(Self.size, in: store)
            let part = store.incoming.child("\(id).part")
            #expect(link(part, store.path(of: id)) == 0)
            let file = try incoming(store)
            #expect(file.byteCount == 0)
            try write([1, 2, 3], to: file)
            #expect(try Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == Data(content))
            try file.discard()
            #expect(try names(store) == [])
        }
    }

    @Test("A download does not write through a link or pipe in its place", arguments: ["link", "hard link", "pipe"])
    func planted(_ kind: String) async throws {
        try await withStore { store in
            let (part, target) = (store.incoming.child("\(id).part"), store.path + ".target")
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: target))
            switch kind {
            case "link": #expect(symlink(target, part) == 0)
            case "hard link": #expect(link(target, part) == 0)
            default: #expect(mkfifo(part, 0o600) == 0)
            }
            let file = try incoming(store)
            try write(content, to: file)
            try await file.finish(sha256: Self.sha256)
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data([1, 2, 3]))
            #expect(try Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == Data(content))
            #expect(try names(store) == [])
        }
    }

    @Test("A partial file that is read-only does not block its download")
    func readOnly() async throws {
        try await withStore { store in
            try leave(400_000, in: store)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o400], ofItemAtPath: store.incoming.child("\(id).part"))
            let file = try incoming(store)
            try file.restart()
            try write(content, to: file)
            try await file.finish(sha256: Self.sha256)
            #expect(try names(store) == [])
        }
    }

    @Test("Clearing keeps a partial download and removes all other files")
    func clearing() async throws {
        try await withStore { store in
            try leave(400_000, in: store)
            for name in [
                "\(FileID.make()).\(FileID.make())", "lfs.json.\(FileID.make())", "\(FileID.make()).tag", "x.part",
            ] {
                _ = try store.incoming.create(name)
            }
            _ = try store.incoming.create("\(FileID.make()).part")
            #expect(try store.clearIncoming().map(\.id) == [id])
            #expect(try names(store) == ["\(id).part", "\(id).tag"])
            try store.removeUnfinished(id)
            #expect(try names(store) == [])
        }
    }

    @Test("A partial download with one flipped bit is refused", arguments: 0..<10)
    func bitRot(_ round: Int) async throws {
        try await withStore { store in
            try leave(Self.size - 1, in: store)
            let part = URL(fileURLWithPath: store.incoming.child("\(id).part"))
            var bytes = try Data(contentsOf: part)
            let bit = Int.random(in: 0..<8 * bytes.count)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            try bytes.write(to: part)
            let file = try incoming(store)
            #expect(file.byteCount == Int64(Self.size - 1))
            try write(content.suffix(1), to: file)
            let error = await #expect(throws: FileError.self) {
                try await file.finish(sha256: Self.sha256)
            }
            #expect(error?.code == .sourceChanged, "bit \(bit)")
            #expect(try !store.contains(id))
        }
    }
}
