import LFSSettings
import TestSupport
import Testing

/// libsecret and KWallet 5.103 do not agree on one session in sixty or so.
@Suite("Sessions of a keyring whose keys do not fit", .needsKeyring, .timeLimit(.minutes(10)))
struct KeyringSessionTests {
    @Test(
        "In another session a secret is kept and read nevertheless",
        arguments: ["refused", "garbled", "lucky"], [1, 3])
    func another(kind: String, count: Int) async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("\(kind):\(count)")
            let said = try await keyring.steps("set=secret", "get", "set=more", "get", "remove", "get")
            #expect(said == ["ok", "secret", "ok", "more", "ok", "nothing"])
        }
    }

    @Test(
        "What was kept is read in another session, and is not called damaged",
        arguments: ["refused", "garbled", "lucky"])
    func reading(kind: String) async throws {
        try await Keyring.withSecret { keyring in
            try keyring.script("\(kind):3")
            let said = try await keyring.steps("get", "get")
            #expect(said == ["secret", "secret"])
        }
    }

    @Test("A secret that was found in a session which cannot write is replaced in another one")
    func replacing() async throws {
        try await Keyring.withSecret { keyring in
            try keyring.script("oneway:3")
            let said = try await keyring.steps("set=more", "get")
            #expect(said == ["ok", "more"])
        }
    }

    @Test("A sound secret is not called damaged because several sessions in a row do not fit")
    func several() async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps("set=secret", "script=lucky:4", "get", "get")
            #expect(said == ["ok", "ok", "secret", "secret"])
        }
    }

    @Test("The first secret of all is made in another session where the first does not fit, and its user is asked")
    func first() async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("none refused:1 dismiss")
            let said = try await keyring.steps("set=secret")
            #expect(said[0].hasPrefix("promptDismissed: "), "\(said)")
            #expect(try keyring.calls().count { $0 == "CreateCollection" } == 1)
        }
    }

    @Test("A removal that fails or that the user refuses is an error, and never called done")
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

    @Test("Many calls at once give up one session, and not those that fit")
    func crowd() async throws {
        for kind in ["refused", "garbled", "lucky"] {
            try await Keyring.with(.scripted) { keyring in
                let said = try await keyring.steps("set=secret", "script=\(kind):3", "many=40", "many=40")
                #expect(said == ["ok", "ok", "40 secret", "40 secret"])
            }
        }
    }

    @Test("What is damaged is told, and costs one session and not all")
    func damage() async throws {
        try await Keyring.withSecret { keyring in
            // It is kept so for good.
            try keyring.script("damage")
            let before = try keyring.calls().count { $0 == "OpenSession" }
            let said = try await keyring.steps("get", "get", "get", "get", "get")
            #expect(said.allSatisfy { $0.hasPrefix("corrupted: ") }, "\(said)")
            let count = try keyring.calls().count { $0 == "OpenSession" } - before
            #expect(count == 6, "Two algorithms each, of opening, of the secret, and of the session after it.")
        }
    }

    @Test("What another program has stored is not migrated as something else where the session does not fit")
    func foreign() async throws {
        try await Keyring.withForeignSecret { keyring in
            try keyring.script("lucky:1000")
            let garbled = try await keyring.steps("migrated")
            #expect(garbled[0].hasPrefix("migrationPending: "), "\(garbled)")
            // Each of them was asked for with two algorithms.
            let count = try keyring.calls().count { $0 == "OpenSession" } / 2
            try keyring.script("lucky:\(count + 4)")
            let said = try await keyring.steps("migrated")
            #expect(said == ["another secret"])
        }
    }

    @Test("What can be seen once is taken, and not looked at until no session is left")
    func allowedOnce() async throws {
        try await Keyring.withForeignSecret { keyring in
            try keyring.script("lockedItems accept once")
            let said = try await keyring.steps("migrated", with: ["HELPER_FOREIGN_PROMPTS": "1"])
            #expect(said == ["another secret"])
            // No session was given up: those are of secret-tool and of the helper, with two algorithms each.
            #expect(try keyring.calls().count { $0 == "OpenSession" } == 4)
        }
    }

    @Test("A new item that was asked for, and a keyring that is locked then, is not called kept")
    func lockedUnmade() async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("ask:CreateItem dismiss lock:CreateItem")
            let said = try await keyring.steps("set=secret", "script=", "get")
            #expect(said[0].hasPrefix("locked: ") && said[2] == "nothing", "\(said)")
        }
    }

    @Test("A keyring that locks itself after it has taken a secret is believed")
    func lockedAfter() async throws {
        try await Keyring.with(.scripted) { keyring in
            let said = try await keyring.steps(
                "set=secret", "script=lock:SetSecret", "set=more", "script=", "get",
                with: ["HELPER_PROMPTS": "0"])
            #expect(said == ["ok", "ok", "ok", "ok", "more"])
            // The sentinel, and the secret.
            #expect(try keyring.calls().count { $0 == "CreateItem" } == 2)
        }
    }

    @Test("What was found in one process of the service is not written into another one", arguments: [1, 2])
    func anotherProcess(turn: Int) async throws {
        try await Keyring.with(.scripted) { keyring in
            try keyring.startsByItself()
            // The first look is for the sentinel, the second for the secret.
            let words = Array(repeating: "dieAfter:GetSecrets", count: turn).joined(separator: " ")
            let said = try await keyring.steps("set=secret", "script=\(words)", "set=more", "get")
            #expect(said[2].hasPrefix("keychainUnavailable: "), "\(said)")
            #expect(said[3].hasPrefix("keychainReplaced: "), "\(said)")
            #expect(try keyring.calls().count { $0 == "CreateItem" } == 2)
        }
    }

    @Test("What another process of the service does not have is not called absent, where the first ends in a prompt")
    func anotherProcessOpens() async throws {
        try await Keyring.withForeignSecret { keyring in
            try keyring.startsByItself()
            try keyring.script("lockOnce:SearchItems die:Unlock")
            let said = try await keyring.steps("migrated", with: ["HELPER_FOREIGN_PROMPTS": "1"])
            #expect(said[0].hasPrefix("migrationPending: "), "\(said)")
        }
    }

    @Test("A service that refuses every session is not asked for ever new ones")
    func refusing() async throws {
        try await Keyring.withSecret { keyring in
            let before = try keyring.calls().count { $0 == "OpenSession" }
            try keyring.script("refused:1000")
            let said = try await keyring.steps("many=50", "many=50")
            #expect(said.allSatisfy { $0 == "50 keychainUnavailable" }, "\(said)")
            // A look asks twice, with two algorithms each: 100 calls, 2 of opening, and 6 for other sessions.
            let count = try keyring.calls().count { $0 == "OpenSession" } - before
            #expect(count == 2 * 2 * (100 + 2 + 6))
        }
    }

    @Test("Where no session fits it is an error, nothing else is written, and the former secret stays")
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
        // A service that takes anything has taken it. It is told.
        try await Keyring.with(.scripted) { keyring in
            try keyring.script("lucky:1000")
            let said = try await keyring.steps("set=secret", "get")
            #expect(said[0].hasPrefix("system: ") && said[1] == "nothing", "\(said)")
        }
    }
}
