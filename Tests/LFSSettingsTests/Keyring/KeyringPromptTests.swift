import Foundation
import LFSSettings
import TestSupport
import Testing

/// Against a Secret Service that does what the test says.
@Suite("A keyring that asks, waits and dies", .needsKeyring, .timeLimit(.minutes(10)))
struct KeyringPromptTests {
    /// Milliseconds that a call may take where nobody answers it.
    private static let soon = ["HELPER_DEADLINE": "300"]

    @Test("A prompt that is answered opens the keyring, and one that is dismissed is an error of its own")
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
        "A prompt that is withdrawn because another program's was answered is no error",
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

    @Test("Whoever has been asked is not asked again, and what was not answered is an error")
    func once() async throws {
        // Opening looks into the keyring twice.
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

    @Test("Whoever may not be asked is not: locked at once")
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

    @Test("A prompt that is never answered is taken back at the deadline", arguments: ["locked", "lockedItems"])
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

    @Test("A service that does not even take a prompt back keeps nobody: forty calls end, and the next is answered")
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

    @Test(
        "A method that is never answered ends at the deadline", arguments: ["SearchItems", "GetSecrets", "SetSecret"])
    func hanging(method: String) async throws {
        // Reading is not concerned by the one of writing.
        let count = method == "SetSecret" ? 0 : 40
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "patience", "set=secret", "script=hang:\(method)", "impatience", "set=x", "many=\(count)", "script=",
                "patience", "many=40", with: Self.soon)
            #expect(said[4].hasPrefix("locked: "), "\(said)")
            if count > 0 { #expect(said[5] == "40 locked", "\(said)") }
            // What was not answered may have been done, and is not done again.
            if count == 0 { #expect(try keyring.calls().count { $0 == "SetSecret" } == 1) }
            #expect(said[8] == "40 secret", "\(said)")
        }
    }

    @Test(
        "A service that ends within a call is an error, and the one after it is found",
        arguments: ["SearchItems", "GetSecrets"])
    func dying(method: String) async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "set=secret", "script=die:\(method)", "get", "script=", "do=start", "get")
            #expect(said[2].hasPrefix("keychainUnavailable: "), "\(said)")
            // It has nothing of the one before it.
            #expect(said[5].hasPrefix("keychainReplaced: "), "\(said)")
        }
    }

    @Test(
        "What a service has lost that the bus starts anew within a call is not called absent",
        arguments: ["SearchItems", "GetSecrets"])
    func reborn(method: String) async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.startsByItself()
            let said = try await keyring.steps("set=secret", "script=die:\(method)", "get", "get")
            #expect(said[2].hasPrefix("keychainUnavailable: ") && said[3].hasPrefix("keychainReplaced: "), "\(said)")
        }
    }

    @Test("Without a default keyring the first secret asks for its password, which another program may have done")
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
