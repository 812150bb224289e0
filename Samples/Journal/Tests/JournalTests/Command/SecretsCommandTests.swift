import Foundation
import Testing

@Suite("The secrets of a journal, by the command", .timeLimit(.minutes(10)))
struct SecretsCommandTests {
    private static let secret = "S3CR3T/that+nobody+sees"
    private static let options = ["--database", "journal.sqlite", "--secrets", "state"]

    private func run(_ command: String, in folder: URL, input: String? = nil) async throws -> ChildProcess.Result {
        try await ChildProcess.run("journal", ["secrets", command] + Self.options, in: folder, input: input)
    }

    private func withJournal(_ body: (URL) async throws -> Void) async throws {
        try await withFolder { folder in
            let made = try await ChildProcess.run(
                "journal",
                ["demo", "--records", "1", "--pictures", "0", "--database", "journal.sqlite", "--storage", "dir:a"],
                in: folder)
            #expect(made.status == 0, "\(made)")
            try await body(folder)
        }
    }

    /// The files below a folder that have a text in them.
    private func files(with text: String, in folder: URL) throws -> [String] {
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
        return names.filter { name in
            let data = try? Data(contentsOf: folder.appending(path: name))
            return data?.firstRange(of: Data(text.utf8)) != nil
        }
    }

    @Test("Keys to a bucket are kept, told of without being shown, in no file as they are, and removed")
    func kept() async throws {
        try await withJournal { folder in
            #expect(try await run("show", in: folder).output == "Keys to the bucket: none\n")
            let set = try await run("set-storage", in: folder, input: "AKID\n\(Self.secret)\n")
            #expect(set.status == 0 && set.output == "The keys to the bucket are kept.\n", "\(set)")
            let shown = try await run("show", in: folder)
            #expect(shown.output == "Keys to the bucket: kept\n" && !shown.messages.contains(Self.secret))
            #expect(try files(with: "AKID", in: folder) == [] && files(with: Self.secret, in: folder) == [])
            let mode = try FileManager.default.attributesOfItem(atPath: folder.appending(path: "state").path)
            #expect(mode[.posixPermissions] as? Int == 0o700)
            #expect(try await run("remove-storage", in: folder).status == 0)
            #expect(try await run("show", in: folder).output == "Keys to the bucket: none\n")
        }
    }

    @Test("What are no keys is refused, and nothing is kept", arguments: ["", "AKID\n", "AKID\na b\n", "A KID\nx\n"])
    func wrong(_ input: String) async throws {
        try await withJournal { folder in
            let result = try await run("set-storage", in: folder, input: input)
            #expect(result.status == 64 && result.messages.contains("each on a line of its own"), "\(result)")
            #expect(try await run("show", in: folder).output == "Keys to the bucket: none\n")
        }
    }

    @Test("A folder that others may write to is refused with the command that mends it")
    func unsafe() async throws {
        try await withJournal { folder in
            let state = folder.appending(path: "state")
            try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: state.path)
            let result = try await run("set-storage", in: folder, input: "AKID\n\(Self.secret)\n")
            #expect(result.status == 1 && result.messages.contains("chmod"), "\(result)")
            #expect(try files(with: Self.secret, in: folder) == [])
        }
    }

    @Test("Secrets that are gone are an error that names the way on, and none is made in their place")
    func gone() async throws {
        try await withJournal { folder in
            #expect(try await run("set-storage", in: folder, input: "AKID\n\(Self.secret)\n").status == 0)
            try FileManager.default.removeItem(at: folder.appending(path: "state"))
            // Without a certificate it would end right after the secrets, and for another reason.
            let tls = ["--tls-certificate", "none.pem", "--tls-key", "none.pem"]
            let result = try await ChildProcess.run(
                "journal", ["serve", "--storage", "dir:a", "--listen", "127.0.0.1:0"] + tls + Self.options, in: folder)
            #expect(result.status == 1 && result.messages.contains("journal secrets adopt"), "\(result)")
            #expect(try await run("adopt", in: folder).status == 0)
            #expect(try await run("show", in: folder).output == "Keys to the bucket: none\n")
        }
    }
}
