import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Marker files", .timeLimit(.minutes(10)))
struct MarkerFileTests {
    private struct Note: Codable, Equatable {
        var text: String
    }

    @Test("A marker that is written in part does not replace the old one", arguments: [0, 5])
    func lyingDisk(_ taken: Int) async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.open(folder.path)
            try MarkerFile<Note>("note.json").replace(with: Note(text: "old"), in: directory, through: directory)
            let lying = MarkerFile<Note>("note.json") { file, bytes in
                try file.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(taken)))
            }
            #expect(throws: SystemError.self) {
                try lying.replace(with: Note(text: "new"), in: directory, through: directory)
            }
            guard case .found(let note) = try lying.read(in: directory) else {
                Issue.record("The marker is missing.")
                return
            }
            #expect(note == Note(text: "old"))
            #expect(try names(in: folder) == ["note.json"])
        }
    }

    @Test("A marker that is written with wrong bytes is not created")
    func otherBytes() async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.open(folder.path)
            let lying = MarkerFile<Note>("note.json") { file, bytes in
                try [UInt8](repeating: 0, count: bytes.count).withUnsafeBytes { try file.write($0) }
            }
            #expect(throws: SystemError.self) {
                try lying.make(Note(text: "new"), in: directory, through: directory)
            }
            #expect(try names(in: folder) == [])
        }
    }
}

@Suite("Stores with damaged markers", .timeLimit(.minutes(10)))
struct DamagedMarkerTests {
    private static let id = "01000000-0000-7000-8000-000000000001"
    static let damages = ["", "{", "{\"databaseID\":\"o", String(repeating: "\0", count: 80)]

    private func damage(_ store: URL, text: String?, keepsReserve: Bool) throws {
        let marker = store.child("lfs.json")
        try FileManager.default.removeItem(at: marker)
        if let text { try Data(text.utf8).write(to: marker) }
        if !keepsReserve { try Data().write(to: store.child("attached.lock")) }
    }

    private func withStore(files: Bool, _ body: (URL) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("app.lfs")
            try LocalStore(at: path.path, databaseID: "one", generation: 4).mark(generation: 5)
            if files { try Data([1]).write(to: path.child(Self.id)) }
            try body(path)
        }
    }

    @Test(
        "A store with a damaged marker opens for its own database with a newer generation", arguments: damages + [nil])
    func opens(_ text: String?) async throws {
        try await withStore(files: true) { path in
            try damage(path, text: text, keepsReserve: true)
            let store = try LocalStore(at: path.path, databaseID: "one", generation: 5)
            #expect(store.marker.generation > 5)
            #expect(try store.currentMarker().generation > 5)
            #expect(FileManager.default.fileExists(atPath: path.child(Self.id).path))
        }
    }

    @Test("A store with a damaged marker does not open for another database", arguments: damages + [nil])
    func refuses(_ text: String?) async throws {
        for hasFiles in [true, false] {
            try await withStore(files: hasFiles) { path in
                try damage(path, text: text, keepsReserve: true)
                let error = #expect(throws: FileError.self) { try LocalStore(at: path.path, databaseID: "two") }
                #expect(error?.code == .wrongStore)
            }
        }
    }

    @Test("A store with a damaged marker and no reserve opens only if it holds no file", arguments: damages + [nil])
    func withoutReserve(_ text: String?) async throws {
        try await withStore(files: false) { path in
            try damage(path, text: text, keepsReserve: false)
            _ = try LocalStore(at: path.path, databaseID: "one")
        }
        try await withStore(files: true) { path in
            try damage(path, text: text, keepsReserve: false)
            let error = #expect(throws: FileError.self) {
                try LocalStore(at: path.path, databaseID: "one", generation: 5)
            }
            #expect(error?.code == .wrongStore)
            // Runs the command that the error message suggests.
            let command = try #require(error?.message.split(separator: "write the file again: ").last)
            #expect(try runTool("sh", arguments: ["-c", String(command)]))
            #expect(try LocalStore(at: path.path, databaseID: "one", generation: 5).marker.generation == 6)
        }
    }
}
