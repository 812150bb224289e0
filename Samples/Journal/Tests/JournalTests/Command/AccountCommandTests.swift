import Foundation
import Testing

@Suite("The account of a journal", .timeLimit(.minutes(10)))
struct AccountCommandTests {
    private static let token = "zqxjkvwyh-token"
    private static let host = "zqxjkvwyh.example"
    private static let server = "https://\(host)"

    private func run(_ words: String..., in folder: URL, input: String? = nil) async throws -> ChildProcess.Result {
        let options = ["--database", "journal.sqlite", "--secrets", "state"]
        return try await ChildProcess.run("journal", arguments: ["account"] + words + options, in: folder, input: input)
    }

    private func withJournal(_ body: (URL) async throws -> Void) async throws {
        try await withFolder { folder in
            let arguments = [
                "demo", "--records", "3", "--pictures", "0", "--database", "journal.sqlite", "--storage", "dir:a",
            ]
            let made = try await ChildProcess.run("journal", arguments: arguments, in: folder)
            #expect(made.status == 0, "\(made)")
            try await body(folder)
        }
    }

    /// Returns the files below a folder that contain a text.
    private func files(with text: String, in folder: URL) throws -> [String] {
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
        return names.filter { name in
            let data = try? Data(contentsOf: folder.appending(path: name))
            return data?.firstRange(of: Data(text.utf8)) != nil
        }
    }

    @Test("A login stores the server, and the token as a secret")
    func login() async throws {
        try await withJournal { folder in
            let result = try await run("login", "--server", Self.server, in: folder, input: Self.token + "\n")
            #expect(result.status == 0 && !result.output.contains(Self.token), "\(result)")
            #expect(try files(with: Self.token, in: folder) == [])
            #expect(try files(with: Self.host, in: folder).contains { $0.hasPrefix("journal.sqlite") })
        }
    }

    @Test("A login without a token, or with a wrong server, stores nothing")
    func invalid() async throws {
        try await withJournal { folder in
            for (server, input) in [(Self.server, "\n"), (Self.server, "a b\n"), ("photos", Self.token + "\n")] {
                let result = try await run("login", "--server", server, in: folder, input: input)
                #expect(result.status == 64, "\(result)")
            }
            #expect(try files(with: Self.host, in: folder) == [])
        }
    }

    @Test("A removal asks first, and leaves no record behind", arguments: ["logout", "reset"])
    func removed(_ command: String) async throws {
        try await withJournal { folder in
            #expect(
                try await run("login", "--server", Self.server, in: folder, input: Self.token + "\n").status == 0)
            let asked = try await run(command, in: folder)
            #expect(asked.status == 64 && asked.messages.contains("Add --yes"), "\(asked)")
            #expect(try files(with: Self.host, in: folder) != [])
            let removed = try await run(command, "--yes", in: folder)
            #expect(removed.status == 0, "\(removed)")
            #expect(try files(with: Self.host, in: folder) == [])
            let database = ["--database", "journal.sqlite", "--storage", "dir:a"]
            let out = try await ChildProcess.run("journal", arguments: ["export", "copy"] + database, in: folder)
            #expect(out.status == 0 && out.output == "0 records, 0 pictures, 0 tags.\n", "\(out)")
        }
    }
}
