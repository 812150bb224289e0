import Crypto
import Foundation
import LFS
import LFSBackup
import Testing
import UploaderKit

@Suite("Folders that are replaced during a pull", .timeLimit(.minutes(10)))
struct RestoreSwapTests {
    private let bytes = Data("restored".utf8)

    private func file() throws -> FileData {
        let row: [String: Any] = [
            "id": UUID().uuidString.lowercased(), "status": "local", "byteCount": bytes.count, "key": "a/b",
            "sha256": SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined(),
            "createdAt": 0,
        ]
        return try JSONDecoder().decode(FileData.self, from: JSONSerialization.data(withJSONObject: row))
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("restore-swap-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try await body(folder)
    }

    /// Does what another user could do: moves a folder away and puts a link to another folder in its place.
    private func swap(in folder: URL) throws {
        let script = "mv out/a out/moved && ln -s ../outside out/a"
        #expect(try RestoreTests.shell(script, in: folder))
    }

    private func place(_ names: String..., in folder: URL) throws -> RestorePlace {
        let base = FilePath(folder.appendingPathComponent("out").path)
        return try RestorePlace(base: base, names: names.map { Array($0.utf8) })
    }

    @Test(
        "A pull writes into the opened folder even if its path leads elsewhere",
        arguments: [false, true])
    func swapped(overwrites: Bool) async throws {
        try await withFolder { folder in
            #expect(try RestoreTests.shell("mkdir -p outside/b out/a/b; echo precious > outside/b/x", in: folder))
            if overwrites { #expect(try RestoreTests.shell("echo old > out/a/b/x; ln -s old out/a/b/l", in: folder)) }
            #expect(try RestoreTests.shell("cp -r outside before", in: folder))
            let (folders, file) = (RestoreFolders(recorded: [:], overwrites: overwrites), try file())
            let place = try place("a", "b", "x", in: folder)
            let target = RestoreTarget(place, id: file.id, attributes: nil)
            let (contents, input) = AsyncStream.makeStream(of: Data.self)
            input.yield(bytes)
            input.finish()

            let open = try folders.enter(place)
            try swap(in: folder)
            try await target.write(contents, of: file, in: open, overwrites: overwrites) { _ in }
            let attributes = FileAttributes(seconds: 1, nanoseconds: 0, permissions: nil)
            let link = RestoreLink(
                place: try self.place("a", "b", "l", in: folder), target: FilePath("x"), attributes: attributes)
            try link.make(in: open, overwrites: overwrites)
            #expect(try link.look(in: open) == .same)
            #expect(try target.look(in: open, for: file) { _ in } == .same(isOther: false))
            #expect(try RestoreTests.shell("test \"$(cat out/moved/b/l)\" = restored", in: folder))
            #expect(try RestoreTests.shell("test \"$(ls -A out/moved/b | tr '\\n' ' ')\" = 'l x '", in: folder))
            #expect(try RestoreTests.shell("diff -r outside before", in: folder))
        }
    }

    @Test("A file that another program created first is reported and kept")
    func taken() async throws {
        try await withFolder { folder in
            #expect(try RestoreTests.shell("mkdir -p out/a; echo theirs > out/a/x", in: folder))
            let (folders, file) = (RestoreFolders(recorded: [:], overwrites: false), try file())
            let place = try place("a", "x", in: folder)
            let target = RestoreTarget(place, id: file.id, attributes: nil)
            let (contents, input) = AsyncStream.makeStream(of: Data.self)
            input.yield(bytes)
            input.finish()
            let open = try folders.enter(place)
            await #expect(throws: ConcurrentlyPushed.name(place.path)) {
                try await target.write(contents, of: file, in: open, overwrites: false) { _ in }
            }
            #expect(try RestoreTests.shell("test \"$(cat out/a/x)\" = theirs && test $(ls -A out/a) = x", in: folder))
        }
    }

    @Test("A replaced folder gets no permissions from a pull, and is reported")
    func finished() async throws {
        try await withFolder { folder in
            #expect(try RestoreTests.shell("mkdir -p outside/b; chmod 700 outside/b; mkdir out", in: folder))
            let place = try place("a", "b", "x", in: folder)
            let permissions = FileAttributes.Permissions(mode: 0o755, user: UInt32(getuid()), group: UInt32(getgid()))
            let attributes = FileAttributes(seconds: 1, nanoseconds: 0, permissions: permissions)
            let folders = RestoreFolders(recorded: [place.folder.path: attributes], overwrites: false)
            _ = try folders.enter(place)
            try swap(in: folder)
            let failures = folders.finish().failures
            #expect(failures.map { $0.0 } == [place.folder.path, place.folder.folder.path])
            #expect(failures.first?.1.description.contains("out/a is in the way: it is not a folder") ?? false)
            #expect(try RestoreTests.shell("test $(stat -c %a outside/b) = 700", in: folder))
            #expect(throws: UploaderError.self) { try folders.enter(place) }
        }
    }
}
