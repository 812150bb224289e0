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

    @Test("A login stores the server, and the token as a secret")
    func login() async throws {
        try await withDemo { folder in
            let result = try await run("login", "--server", Self.server, in: folder, input: Self.token + "\n")
            #expect(result.status == 0 && !result.output.contains(Self.token), "\(result)")
            #expect(try files(with: Self.token, in: folder) == [])
            #expect(try files(with: Self.host, in: folder).contains { $0.hasPrefix("journal.sqlite") })
        }
    }

    @Test("A login without a token, or with a wrong server, stores nothing")
    func invalid() async throws {
        try await withDemo { folder in
            for (server, input) in [(Self.server, "\n"), (Self.server, "a b\n"), ("photos", Self.token + "\n")] {
                let result = try await run("login", "--server", server, in: folder, input: input)
                #expect(result.status == 64, "\(result)")
            }
            #expect(try files(with: Self.host, in: folder) == [])
        }
    }

    @Test("A removal asks first, and leaves no record behind", arguments: ["logout", "reset"])
    func removed(_ command: String) async throws {
        try await withDemo { folder in
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

    @Test("A removal on a terminal follows the answer", arguments: ["logout", "reset"], [true, false])
    func answered(_ command: String, isConfirmed: Bool) async throws {
        try await withDemo { folder in
            #expect(
                try await run("login", "--server", Self.server, in: folder, input: Self.token + "\n").status == 0)
            let terminal = #"script -qec "'$0' $*" /dev/null"#
            let result = try await ChildProcess.run(
                "journal", arguments: ["account", command, "--database", "journal.sqlite", "--secrets", "state"],
                in: folder,
                through: ["/bin/sh", "-c", "printf '\(isConfirmed ? "yes" : "no")\\n' | \(terminal)"])
            #expect(result.output.contains("Type yes:"), "\(result.output)")
            #expect(result.status == (isConfirmed ? 0 : 64))
            #expect(result.output.contains("Nothing was removed.") != isConfirmed, "\(result.output)")
            #expect(try files(with: Self.host, in: folder).isEmpty == isConfirmed)
        }
    }
}
