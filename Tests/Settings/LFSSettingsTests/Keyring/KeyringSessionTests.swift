import LFSSettings
import TestSupport
import Testing

/// libsecret and KWallet 5.103 disagree on the key in about one session of sixty.
@Suite("Keyring sessions with mismatched keys", .needsKeyring, .timeLimit(.minutes(10)))
struct KeyringSessionTests {
    @Test(
        "Setting and reading a secret succeed by switching to another session",
        arguments: ["refused", "garbled", "lucky"], [1, 3])
    func another(kind: String, count: Int) async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("\(kind):\(count)")
            let said = try await keyring.steps("set=secret", "get", "set=more", "get", "remove", "get")
            #expect(said == ["ok", "secret", "ok", "more", "ok", "nothing"])
        }
    }

    @Test(
        "A stored secret is read in another session and not reported as damaged",
        arguments: ["refused", "garbled", "lucky"])
    func reading(kind: String) async throws {
        try await Keyring.withSecret { keyring in
            try keyring.script("\(kind):3")
            let said = try await keyring.steps("get", "get")
            #expect(said == ["secret", "secret"])
        }
    }

    @Test("A secret is replaced in another session if the first one cannot write")
    func replacing() async throws {
        try await Keyring.withSecret { keyring in
            try keyring.script("oneway:3")
            let said = try await keyring.steps("set=more", "get")
            #expect(said == ["ok", "more"])
        }
    }

    @Test("An intact secret is not reported as damaged after several mismatched sessions")
    func several() async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps("set=secret", "script=lucky:4", "get", "get")
            #expect(said == ["ok", "ok", "secret", "secret"])
        }
    }

    @Test("The first secret is created in another session, and its prompt appears once")
    func first() async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("none refused:1 dismiss")
            let said = try await keyring.steps("set=secret")
            #expect(said[0].hasPrefix("promptDismissed: "), "\(said)")
            #expect(try keyring.calls().count { $0 == "CreateCollection" } == 1)
        }
    }

    @Test("A failed or refused removal is an error")
    func removal() async throws {
        for (kind, code) in [
            ("fail:Delete lock:Delete", "keychainUnavailable"), ("ask:Delete dismiss", "promptDismissed"),
            ("ask:Delete dismiss lock:Delete", "locked"),
        ] {
            try await Keyring.with(.scripted) { keyring in
                let said = try await keyring.steps("set=secret", "script=\(kind)", "remove", "script=", "get")
                #expect(said[2].hasPrefix("\(code): ") && said[4] == "secret", "\(said)")
            }
        }
    }

    @Test("40 concurrent calls succeed although some sessions of the keyring are unusable")
    func crowd() async throws {
        for kind in ["refused", "garbled", "lucky"] {
            try await Keyring.with(.scripted) { keyring in
                let said = try await keyring.steps("set=secret", "script=\(kind):3", "many=40", "many=40")
                #expect(said == ["ok", "ok", "40 secret", "40 secret"])
            }
        }
    }

    @Test("A damaged secret is reported and replaces the session only once")
    func damage() async throws {
        try await Keyring.withSecret { keyring in
            // The secret is stored in this form permanently.
            try keyring.script("damage")
            let before = try keyring.calls().count { $0 == "OpenSession" }
            let said = try await keyring.steps("get", "get", "get", "get", "get")
            #expect(said.allSatisfy { $0.hasPrefix("corrupted: ") }, "\(said)")
            let count = try keyring.calls().count { $0 == "OpenSession" } - before
            #expect(count == 6, "Two algorithms each, of opening, of the secret, and of the session after it.")
        }
    }

    @Test("A garbled foreign secret is not migrated until a session fits")
    func foreign() async throws {
        try await Keyring.withForeignSecret { keyring in
            try keyring.script("lucky:1000")
            let garbled = try await keyring.steps("migrated")
            #expect(garbled[0].hasPrefix("migrationPending: "), "\(garbled)")
            // Each session was requested with two algorithms.
            let count = try keyring.calls().count { $0 == "OpenSession" } / 2
            try keyring.script("lucky:\(count + 4)")
            let said = try await keyring.steps("migrated")
            #expect(said == ["another secret"])
        }
    }

    @Test("A secret that can be read once is taken at the first read")
    func allowedOnce() async throws {
        try await Keyring.withForeignSecret { keyring in
            try keyring.script("lockedItems accept once")
            let said = try await keyring.steps("migrated", with: ["HELPER_FOREIGN_PROMPTS": "1"])
            #expect(said == ["another secret"])
            // No session was replaced. secret-tool and the helper opened one each, with two algorithms.
            #expect(try keyring.calls().count { $0 == "OpenSession" } == 4)
        }
    }

    @Test("An item whose creation prompt is dismissed in a keyring that locks is an error")
    func lockedUnmade() async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("ask:CreateItem dismiss lock:CreateItem")
            let said = try await keyring.steps("set=secret", "script=", "get")
            #expect(said[0].hasPrefix("locked: ") && said[2] == "nothing", "\(said)")
        }
    }

    @Test("Setting a secret succeeds although the keyring locks itself afterwards")
    func lockedAfter() async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "set=secret", "script=lock:SetSecret", "set=more", "script=", "get",
                with: ["HELPER_PROMPTS": "0"])
            #expect(said == ["ok", "ok", "ok", "ok", "more"])
            // The sentinel and the secret.
            #expect(try keyring.calls().count { $0 == "CreateItem" } == 2)
        }
    }

    @Test("An item found in one process of the service is not written in another", arguments: [1, 2])
    func anotherProcess(turn: Int) async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.startsByItself()
            // The first read is for the sentinel, the second for the secret.
            let words = Array(repeating: "dieAfter:GetSecrets", count: turn).joined(separator: " ")
            let said = try await keyring.steps("set=secret", "script=\(words)", "set=more", "get")
            #expect(said[2].hasPrefix("keychainUnavailable: "), "\(said)")
            #expect(said[3].hasPrefix("keychainReplaced: "), "\(said)")
            #expect(try keyring.calls().count { $0 == "CreateItem" } == 2)
        }
    }

    @Test("A foreign secret missing after a service restart during a prompt stays pending")
    func anotherProcessOpens() async throws {
        try await Keyring.withForeignSecret { keyring in
            try keyring.startsByItself()
            try keyring.script("lockOnce:SearchItems die:Unlock")
            let said = try await keyring.steps("migrated", with: ["HELPER_FOREIGN_PROMPTS": "1"])
            #expect(said[0].hasPrefix("migrationPending: "), "\(said)")
        }
    }

    @Test("A service that refuses every session receives a bounded number of requests")
    func refusing() async throws {
        try await Keyring.withSecret { keyring in
            let before = try keyring.calls().count { $0 == "OpenSession" }
            try keyring.script("refused:1000")
            let said = try await keyring.steps("many=50", "many=50")
            #expect(said.allSatisfy { $0 == "50 keychainUnavailable" }, "\(said)")
            // A read asks twice, with two algorithms each, for 100 calls, 2 of the opening and 6 replacement sessions.
            let count = try keyring.calls().count { $0 == "OpenSession" } - before
            #expect(count == 2 * 2 * (100 + 2 + 6))
        }
    }

    @Test("Without a matching session a write is an error and the former secret stays")
    func none() async throws {
        for kind in ["refused", "garbled"] {
            try await Keyring.withSecret { keyring in
                try keyring.script("\(kind):1000")
                let said = try await keyring.steps("get", "set=more")
                #expect(!said.contains("secret") && !said.contains("ok"), "\(said)")
                try keyring.script("")
                let after = try await keyring.steps("get")
                #expect(after == ["secret"])
            }
        }
        // A service that accepts anything has accepted the secret. The caller gets an error.
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("lucky:1000")
            let said = try await keyring.steps("set=secret", "get")
            #expect(said[0].hasPrefix("system: ") && said[1] == "nothing", "\(said)")
        }
    }
}
