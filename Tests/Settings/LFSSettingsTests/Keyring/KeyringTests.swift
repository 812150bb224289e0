import Foundation
import LFSSettings
import TestSupport
import Testing

@Suite("Secrets in GNOME's keyring", .needsKeyring, .timeLimit(.minutes(10)))
struct KeyringTests {
    private static let certificate =
        "-----BEGIN CERTIFICATE-----\n" + String(repeating: "MIIBszCCAVmgAwIBAgIUQ+/a==\n", count: 60)
        + "-----END CERTIFICATE-----\n"

    @Test("Secrets survive a kill and restart of the keyring")
    func restart() async throws {
        try await Keyring.with(.gnome) { keyring in
            let text = Self.certificate.replacingOccurrences(of: "\n", with: "\\n")
            let said = try await keyring.steps(
                "get", "set=short", "get", "set=\(Self.certificate)", "do=kill", "get", "do=start", "get", "set=again",
                "do=kill", "do=start", "get", "remove", "get", "remove", "items")
            #expect(said[2] == "short")
            #expect(said[5].hasPrefix("keychainUnavailable: "))
            #expect(
                said.filter { $0 != "ok" && !$0.hasPrefix("keychainUnavailable") }
                    == ["nothing", "short", text, "again", "nothing", "first 0, migrated 0"])
            #expect(try await keyring.steps("get", "set=once more", "get") == ["nothing", "ok", "once more"])
            // The keyring's file has the item as one line, which every version of the keyring preserves.
            let item = try #require(try await keyring.secretTool("secret-tool lookup key first"))
            #expect(item.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil, "\(item)")
        }
    }

    @Test("Another program finds an item by its two attributes, install id and key name")
    func secretTool() async throws {
        try await Keyring.with(.gnome) { keyring in
            #expect(try await keyring.steps("set=the secret") == ["ok"])
            let found = try #require(try await keyring.secretTool("secret-tool search --all key first"))
            let lines = found.split(separator: "\n")
            #expect(lines.filter { $0.hasPrefix("attribute.") }.count == 2, "\(found)")
            let install = try #require(found.firstMatch(of: /attribute\.install = (\S+)/)?.1)
            #expect(found.contains("attribute.key = first") && found.contains("schema = lfs.settings"))
            let text = try await keyring.secretTool("secret-tool lookup install \(install) key first")
            let bytes = try #require(
                text.flatMap {
                    let standard = $0.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
                    return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
                })
            #expect(bytes.range(of: Data("the secret".utf8)) != nil)
            // An item in a foreign form is damaged and stays until it is set again.
            let store = "printf 'someone else' | secret-tool store --label=x install \(install) key first"
            #expect(try await keyring.secretTool("\(store) xdg:schema lfs.settings") != nil)
            let said = try await keyring.steps("get", "update=more", "set=mended", "get")
            #expect(said[0].hasPrefix("corrupted: ") && said[1].hasPrefix("corrupted: ") && said[3] == "mended")
        }
    }

    @Test("A secret of another program is migrated and then removed there")
    func migrates() async throws {
        try await Keyring.with(.gnome) { keyring in
            let stored = "printf 'former token' | secret-tool store --label=x service example user me"
            #expect(try await keyring.secretTool(stored) != nil)
            try await keyring.tell("lock")
            // A locked secret is neither absent nor deleted.
            let locked = try await keyring.steps("migrated", with: ["HELPER_PROMPTS": "0"])
            #expect(try #require(locked.first).hasPrefix("migrationPending: "), "\(locked)")
            try await keyring.tell("kill")
            try await keyring.tell("start")
            #expect(try await keyring.secretTool("secret-tool lookup service example") == "former token")
            #expect(try await keyring.steps("migrated") == ["former token"])
            #expect(try await keyring.secretTool("secret-tool lookup service example") == nil)
            #expect(try await keyring.steps("migrated") == ["former token"])
        }
    }

    @Test("An emptied or replaced key chain is an error rather than an absent secret")
    func emptied() async throws {
        try await Keyring.with(.gnome) { keyring in
            #expect(try await keyring.steps("set=secret", "keychain") == ["ok", "secretService"])
            try await keyring.tell("kill")
            let files = keyring.home.child("home").child("data").child("keyrings")
            for name in try names(in: files) { try FileManager.default.removeItem(at: files.child(name)) }
            try await keyring.tell("start")
            var said = try await keyring.steps("get", "set=x", "adopt", "get", "set=new", "get")
            #expect(said[0].hasPrefix("keychainReplaced: ") && said[1].hasPrefix("keychainReplaced: "))
            #expect(said.dropFirst(2) == ["ok", "nothing", "ok", "new"])
            // A sealed file replaces the keyring.
            var other = keyring.environment
            other["LFS_KEYRING"] = nil
            said = try await HelperRun(
                "steps", in: keyring.folder, arguments: "keychain", "get", "set=x"
            )
            .steps(environment: other)
            #expect(said.allSatisfy { $0.hasPrefix("keychainReplaced: ") && $0.contains("secretService") }, "\(said)")
            #expect(!FileManager.default.fileExists(atPath: keyring.folder.child("sealed").path))
        }
    }

    @Test("A locked keyring is reported as locked without a prompt if prompts are disabled")
    func locked() async throws {
        try await Keyring.with(.gnome) { keyring in
            #expect(try await keyring.steps("set=secret") == ["ok"])
            try await keyring.tell("lock")
            let said = try await keyring.steps("get", "set=x", "remove", "items", with: ["HELPER_PROMPTS": "0"])
            #expect(said.prefix(3).allSatisfy { $0.hasPrefix("locked: ") }, "\(said)")
            // No program shows the prompt on this bus.
            #expect(try await keyring.steps("get").first?.hasPrefix("promptDismissed: ") == true)
            try await keyring.tell("kill")
            try await keyring.tell("start")
            #expect(try await keyring.steps("get") == ["secret"])
        }
    }

    @Test("Without a keyring service nothing is stored, and the error suggests a file")
    func noBus() async throws {
        try await Keyring.with(.bus) { keyring in
            var nowhere = Keyring.withoutSession
            nowhere["LFS_KEYRING"] = keyring.home.path
            for environment in [nowhere, keyring.environment] {
                let said = try await HelperRun(
                    "steps", in: keyring.folder, arguments: "keychain", "get", "set=secret",
                    "keychain"
                )
                .steps(environment: environment)
                #expect(said[0] == "nothing" && said[2] == "nothing", "\(said)")
                #expect(said[1].hasPrefix("keychainUnavailable: "), "\(said)")
                #expect(said[1].contains(".sealedFile(at:key:)"))
            }
            let files = try FileManager.default.subpathsOfDirectory(atPath: keyring.folder.path)
            #expect(files.filter { !$0.hasPrefix("app.sqlite") } == [])
            let secrets = try files.contains { path in
                try Data(contentsOf: keyring.folder.child(path)).range(of: Data("secret\"".utf8)) != nil
            }
            #expect(!secrets)
        }
    }

    @Test("Without libsecret nothing is stored, and the error names its package")
    func noLibrary() async throws {
        try await Keyring.with(.bus) { keyring in
            let libraries = keyring.folder.deletingLastPathComponent().child("lib")
            try FileManager.default.createDirectory(at: libraries, withIntermediateDirectories: false)
            try Data("no library".utf8).write(to: libraries.child("libsecret-1.so.0"))
            let said = try await keyring.steps("set=secret", "keychain", with: ["LD_LIBRARY_PATH": libraries.path])
            #expect(said[0].hasPrefix("keychainUnavailable: ") && said[0].contains("libsecret-1-0"), "\(said)")
            #expect(said[1] == "nothing")
        }
    }

    @Test("A process survives the end of its session bus")
    func busEnds() async throws {
        try await Keyring.with(.gnome) { keyring in
            let said = try await keyring.steps("set=secret", "get", "do=killbus", "get", "set=x", "keychain")
            #expect(said[1] == "secret" && said[5] == "secretService", "\(said)")
            #expect(said[3].hasPrefix("keychainUnavailable: ") && said[4].hasPrefix("keychainUnavailable: "), "\(said)")
        }
    }

    @Test("In a sandbox libsecret keeps secrets in its own file without a bus")
    func sandbox() async throws {
        try await withTemporaryFolder { parent in
            var environment = Keyring.withoutSession
            environment["LFS_KEYRING"] = parent.path
            environment["SECRET_BACKEND"] = "file"
            environment["SECRET_FILE_TEST_PATH"] = parent.child("own.keyring").path
            environment["SECRET_FILE_TEST_PASSWORD"] = "a password"
            let folder = parent.child("app")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let said = try await HelperRun(
                "steps", in: folder, arguments: "keychain", "set=secret", "get",
                "set=\(Self.certificate)", "update=more", "get"
            ).steps(environment: environment)
            #expect(said == ["ok", "secret", "ok", "ok", "more"])
            let again = try await HelperRun(
                "steps", in: folder, arguments: "keychain", "get", "items", "remove",
                "get"
            )
            .steps(environment: environment)
            #expect(again == ["more", "first 1, migrated 0", "ok", "nothing"])
            // An item of another program is damaged and stays until it is set again.
            let installID = try await HelperRun(
                "steps", in: folder, arguments: "keychain", "set=kept", "install"
            )
            .steps(environment: environment)[1]
            var foreign = ToolRun(
                "sh",
                arguments: [
                    "-c",
                    """
                    printf 'someone else' | secret-tool store --label=x install \(installID) key first
                    """,
                ])
            foreign.environment = environment
            #expect(try await foreign.finish() == 0)
            let damaged = try await HelperRun(
                "steps", in: folder, arguments: "keychain", "get", "set=mended", "get"
            )
            .steps(environment: environment)
            #expect(damaged[0].hasPrefix("corrupted: ") && damaged[1...] == ["ok", "mended"], "\(damaged)")
            try FileManager.default.removeItem(at: parent.child("own.keyring"))
            let lost = try await HelperRun("steps", in: folder, arguments: "keychain", "get").steps(
                environment: environment)
            #expect(lost.first?.hasPrefix("keychainReplaced: ") == true, "\(lost)")
            try Data("torn".utf8).write(to: parent.child("own.keyring"))
            let torn = try await HelperRun(
                "steps", in: folder, arguments: "keychain", "get", "set=x"
            )
            .steps(environment: environment)
            #expect(torn.allSatisfy { $0.hasPrefix("corrupted: ") || $0.hasPrefix("system: ") }, "\(torn)")
        }
    }

    @Test("Concurrent increments by four processes are all kept in the keyring")
    func increments() async throws {
        try await Keyring.with(.gnome) { keyring in
            // This run creates the database.
            #expect(try await keyring.steps("keychain") == ["nothing"])
            let words = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await HelperRun("increment", in: keyring.folder, arguments: "keychain", "50")
                            .finish(environment: keyring.environment).word
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(words == Array(repeating: "ok", count: 4))
            let item = try #require(try await keyring.secretTool("secret-tool lookup key counter | tr _- /+"))
            let bytes = try #require(
                Data(base64Encoded: item + String(repeating: "=", count: (4 - item.count % 4) % 4)))
            #expect(bytes.range(of: Data("200".utf8)) != nil)
        }
    }
}
