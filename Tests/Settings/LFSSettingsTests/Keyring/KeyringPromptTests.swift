import Foundation
import LFSSettings
import TestSupport
import Testing

/// Tests against a Secret Service that does what the test scripts.
@Suite("Keyring prompts and failing services", .needsKeyring, .timeLimit(.minutes(10)))
struct KeyringPromptTests {
    /// The deadline of a call that is never answered, in milliseconds.
    private static let soon = ["HELPER_DEADLINE": "300"]

    @Test("Accepting a prompt unlocks the keyring, and dismissing it is a distinct error")
    func prompts() async throws {
        for kind in ["locked", "lockedItems"] {
            try await Keyring.with(.scripted) { keyring in
                let said = try await keyring.steps(
                    "set=secret", "script=\(kind) dismiss", "get", "set=x", "script=\(kind) accept", "get", "set=more",
                    "get")
                #expect(said[2].hasPrefix("promptDismissed: ") && said[3].hasPrefix("promptDismissed: "), "\(said)")
                #expect(said.suffix(3) == ["secret", "ok", "more"], "\(said)")
            }
        }
    }

    @Test(
        "A prompt withdrawn because another program's was answered is not an error",
        arguments: ["withdrawn", "overtaken"])
    func withdrawn(how: String) async throws {
        for kind in ["locked", "lockedItems"] {
            try await Keyring.with(.scripted) { keyring in
                let said = try await keyring.steps(
                    "set=secret", "script=\(kind) \(how)", "get", "set=more", "get")
                #expect(said.suffix(3) == ["secret", "ok", "more"], "\(said)")
            }
        }
    }

    @Test("A failed or dismissed prompt is an error and is not repeated")
    func once() async throws {
        // Opening reads the keyring twice.
        for kind in ["locked fail:Prompt", "locked dismiss", "lockedItems fail:Prompt"] {
            try await Keyring.withSecret { keyring in
                try keyring.script(kind)
                let said = try await keyring.steps("get")
                #expect(said[0].hasPrefix("promptDismissed: "), "\(said)")
                #expect(try keyring.calls().count { $0 == "Prompt" } == 3, "\(kind)")
            }
        }
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("ask:CreateItem dismiss")
            let said = try await keyring.steps("set=secret")
            #expect(said[0].hasPrefix("promptDismissed: "), "\(said)")
            #expect(try keyring.calls().count { $0 == "CreateItem" } == 1)
        }
    }

    @Test("With prompts disabled a locked keyring fails at once with the error locked")
    func silent() async throws {
        for kind in ["locked", "lockedItems"] {
            try await Keyring.with(.scripted) { keyring in
                let said = try await keyring.steps(
                    "set=secret", "script=\(kind) dismiss", "get", "set=x", "remove", "script=", "get",
                    with: ["HELPER_PROMPTS": "0"])
                #expect(said[2...4].allSatisfy { $0.hasPrefix("locked: ") }, "\(said)")
                #expect(said.last == "secret")
                #expect(try !keyring.calls().contains { $0 == "Prompt" || $0 == "Unlock" })
            }
        }
    }

    @Test("An unanswered prompt is withdrawn at the deadline", arguments: ["locked", "lockedItems"])
    func unanswered(kind: String) async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "patience", "set=secret", "script=\(kind)", "impatience", "get", "set=x", "script=", "patience", "get",
                with: Self.soon)
            #expect(said[4].hasPrefix("locked: ") && said[5].hasPrefix("locked: "), "\(said)")
            #expect(said.last == "secret")
            #expect(try keyring.calls().contains("Dismiss"))
        }
    }

    @Test("Calls end although the service ignores the withdrawal of a prompt")
    func deaf() async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "patience", "set=secret", "script=locked deaf", "impatience", "many=40", "script=", "patience",
                "many=40",
                with: Self.soon)
            #expect(said[4] == "40 locked", "\(said)")
            #expect(said[7] == "40 secret", "\(said)")
        }
    }

    @Test("An unanswered method ends at the deadline", arguments: ["SearchItems", "GetSecrets", "SetSecret"])
    func hanging(method: String) async throws {
        // A hanging write does not affect reads.
        let count = method == "SetSecret" ? 0 : 40
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "patience", "set=secret", "script=hang:\(method)", "impatience", "set=x", "many=\(count)", "script=",
                "patience", "many=40", with: Self.soon)
            #expect(said[4].hasPrefix("locked: "), "\(said)")
            if count > 0 { #expect(said[5] == "40 locked", "\(said)") }
            // An unanswered write may have succeeded, so it is not repeated.
            if count == 0 { #expect(try keyring.calls().count { $0 == "SetSecret" } == 1) }
            #expect(said[8] == "40 secret", "\(said)")
        }
    }

    @Test(
        "A service that exits during a call is an error, and its successor is found",
        arguments: ["SearchItems", "GetSecrets"])
    func dying(method: String) async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "set=secret", "script=die:\(method)", "get", "script=", "do=start", "get")
            #expect(said[2].hasPrefix("keychainUnavailable: "), "\(said)")
            // The new service has none of the old one's secrets.
            #expect(said[5].hasPrefix("keychainReplaced: "), "\(said)")
        }
    }

    @Test(
        "A secret lost by a restarted service is not reported as absent",
        arguments: ["SearchItems", "GetSecrets"])
    func reborn(method: String) async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.startsByItself()
            let said = try await keyring.steps("set=secret", "script=die:\(method)", "get", "get")
            #expect(said[2].hasPrefix("keychainUnavailable: ") && said[3].hasPrefix("keychainReplaced: "), "\(said)")
        }
    }

    @Test("The first secret creates the default keyring and prompts for its password")
    func noCollection() async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("none")
            let said = try await keyring.steps("set=secret", "keychain", with: ["HELPER_PROMPTS": "0"])
            #expect(said[0].hasPrefix("locked: ") && said[1] == "nothing", "\(said)")
            try keyring.script("none madeByAnother")
            let made = try await keyring.steps("set=secret", "get")
            #expect(made == ["ok", "secret"])
        }
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("none dismiss")
            let asked = try await keyring.steps("set=secret", "keychain")
            #expect(asked[0].hasPrefix("promptDismissed: ") && asked[1] == "nothing", "\(asked)")
        }
    }
}
