import Foundation
import Testing

/// A local copy whose bytes cannot be read, although every other operation on the file works.
@Suite("Unreadable local copies", .timeLimit(.minutes(10)))
struct UnreadableCopyTests {
    private func uploader(
        _ command: String, arguments: [String], in folder: URL, unreadable file: URL? = nil
    ) throws -> UploaderProcess.Result {
        var environment: [String: String] = [:]
        if let file {
            let number = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
            environment = ["LD_PRELOAD": try Faults.path.get(), "LFS_FAULT_INODE": "\(try #require(number))"]
        }
        return try UploaderProcess(
            [command, "--database", "a.sqlite", "--to", "dir:remote"] + arguments, in: folder, environment: environment
        ).wait()
    }

    /// Pushes one file, and passes its local copy.
    private func withCopy(_ body: (URL, _ copy: URL) throws -> Void) throws {
        try withFolder(files: 1) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let id = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[0].id
            try body(folder, folder.appendingPathComponent("a.sqlite.lfs/\(id)"))
        }
    }

    private func quarantined(_ folder: URL) throws -> [String] {
        let quarantine = folder.appendingPathComponent("a.sqlite.lfs/quarantine").path
        guard FileManager.default.fileExists(atPath: quarantine) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: quarantine)
    }

    private func object(_ folder: URL) throws -> URL {
        let remote = folder.appendingPathComponent("remote")
        let names = try FileManager.default.subpathsOfDirectory(atPath: remote.path)
        let name = try #require(names.first { $0.count == 69 && !$0.hasPrefix(".") })
        return remote.appendingPathComponent(name)
    }

    @Test("An unreadable local copy is replaced by the object's bytes", arguments: ["verify", "pull"])
    func replaced(by command: String) throws {
        try withCopy { folder, copy in
            let bytes = try Data(contentsOf: copy)
            let arguments =
                ["verify": ["--content", "--repair"], "pull": ["--all", "--output", "out"]][command] ?? []
            let run = try uploader(command, arguments: arguments, in: folder, unreadable: copy)
            #expect(run.status == 0, "\(run)")
            let words = ["verify": "Input/output error", "pull": "was damaged, but the storage had intact bytes"]
            #expect((run.output + run.messages).contains(words[command] ?? "?"), "\(run)")
            #expect(try Data(contentsOf: copy) == bytes && quarantined(folder).isEmpty)
            #expect(try uploader("verify", arguments: ["--content"], in: folder).status == 0)
        }
    }

    @Test("An unreadable local copy stays if the object is damaged")
    func damagedObject() throws {
        try withCopy { folder, copy in
            let (bytes, object) = (try Data(contentsOf: copy), try object(folder))
            var damaged = bytes
            damaged[7] ^= 1
            try damaged.write(to: object)
            // The folder reports no checksum, so the object seems intact until it is read.
            for _ in 1...2 {
                let run = try uploader(
                    "verify", arguments: ["--content", "--repair", "--json"], in: folder, unreadable: copy)
                #expect(run.status == 5, "\(run)")
                let findings = run.events.filter { $0["event"] as? String == "finding" }
                #expect(findings.contains { $0["kind"] as? String == "unreadableLocally" }, "\(run)")
                #expect(findings.allSatisfy { $0["isLoss"] as? Bool == false }, "\(run)")
                #expect(try Data(contentsOf: copy) == bytes && quarantined(folder).isEmpty)
            }
            // Freeing must not delete the last possible copy.
            let free = try UploaderProcess.run("free", "--database", "a.sqlite", in: folder)
            #expect(
                free.output.contains("1 not uploaded") && FileManager.default.fileExists(atPath: copy.path), "\(free)")
            let mended = try uploader("verify", arguments: ["--content", "--repair"], in: folder)
            #expect(mended.status == 0, "\(mended)")
            #expect(try Data(contentsOf: object) == bytes)
        }
    }

    @Test("An unreadable copy of a wrong size is quarantined once if no good bytes exist")
    func otherSize() throws {
        try withCopy { folder, copy in
            try FileManager.default.removeItem(at: object(folder))
            #expect(try RestoreTests.shell("chmod u+w '\(copy.path)'; echo x >> '\(copy.path)'", in: folder))
            try FileManager.default.removeItem(at: folder.appendingPathComponent("files"))
            let arguments = ["--content", "--repair", "--accept-empty"]
            let run = try uploader("verify", arguments: arguments, in: folder, unreadable: copy)
            #expect(run.status == 5 && !FileManager.default.fileExists(atPath: copy.path), "\(run)")
            #expect(try quarantined(folder).count == 1)
            let again = try uploader("verify", arguments: arguments, in: folder)
            #expect(again.status == 0 && again.output.contains("Known"), "\(again)")
        }
    }
}

/// The library that makes system calls fail, which is built once per test run. Linux only. Its source is in
/// Tests/Faults.
enum Faults {
    private struct NotBuilt: Error {}

    static let path: Result<String, any Error> = Result {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 1...5 { root.deleteLastPathComponent() }
        let library = FileManager.default.temporaryDirectory
            .appendingPathComponent("lfs-faults-\(UUID().uuidString).so")
        let source = root.appendingPathComponent("Tests/Faults/faults.c").path
        guard try system("clang", "-shared", "-fPIC", "-O1", "-o", library.path, source, "-ldl") else {
            throw NotBuilt()
        }
        return library.path
    }
}
