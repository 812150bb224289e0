import Foundation
import LFSTesting
import Testing

@testable import LFSBackup

@Suite("Folders that are replaced between walk and read")
struct SwappedFolderTests {
    /// A folder `home/d/f` that is backed up, and `secret/f` that is not.
    private func withTree(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("swapped-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        for (path, text) in [("home/d", "mine"), ("secret", "theirs")] {
            let parent = folder.appendingPathComponent(path)
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: parent.appendingPathComponent("f"))
        }
        try body(folder)
    }

    private func move(_ name: String, to newName: String, in folder: URL) throws {
        try FileManager.default.moveItem(
            at: folder.appendingPathComponent(name), to: folder.appendingPathComponent(newName))
    }

    private func link(_ name: String, to target: String, in folder: URL) throws {
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent(name),
            withDestinationURL: folder.appendingPathComponent(target))
    }

    private func walk(_ root: String, in folder: URL) throws -> (FolderSource, Asset) {
        let source = FolderSource([BackupGroup(root, mode: .include)], from: folder.path)
        var walk = try source.makeWalk()
        while let item = walk.next() {
            if case .asset(let asset) = item { return (source, asset) }
        }
        throw CancellationError()
    }

    @Test("A folder that became a link after the walk is not followed")
    func swappedFolder() throws {
        try withTree { folder in
            let (source, asset) = try walk("home", in: folder)
            try move("home/d", to: "home/moved", in: folder)
            try link("home/d", to: "secret", in: folder)
            #expect(throws: BackupError.self) { try source.open(asset) }
        }
    }

    @Test("A named folder that has another target after the walk is not read")
    func swappedRoot() throws {
        try withTree { folder in
            let (source, asset) = try walk("home/d", in: folder)
            try move("home/d", to: "home/moved", in: folder)
            try link("home/d", to: "secret", in: folder)
            #expect(throws: BackupError.self) { try source.open(asset) }
        }
    }

    @Test("A named file that has another target after the walk is not read")
    func swappedFile() throws {
        try withTree { folder in
            let (source, asset) = try walk("home/d/f", in: folder)
            try move("home/d/f", to: "home/d/moved", in: folder)
            try link("home/d/f", to: "secret/f", in: folder)
            #expect(throws: BackupError.self) { try source.open(asset) }
        }
    }

    @Test("A file that was replaced in its folder after the walk is read as it is now")
    func replacedFile() throws {
        try withTree { folder in
            let (source, asset) = try walk("home", in: folder)
            try Data("saved again".utf8).write(to: folder.appendingPathComponent("home/d/f"), options: .atomic)
            #expect(try source.open(asset).stamp.byteCount == 11)
        }
    }

    @Test("Named folders and files may be links or lie behind links")
    func namedLinks() throws {
        try withTree { folder in
            try link("link", to: "home", in: folder)
            try link("file", to: "home/d/f", in: folder)
            for root in ["link", "link/d", "link/d/f", "file"] {
                let (source, asset) = try walk(root, in: folder)
                #expect(try source.open(asset).stamp.byteCount == 4, "\(root)")
            }
        }
    }
}
