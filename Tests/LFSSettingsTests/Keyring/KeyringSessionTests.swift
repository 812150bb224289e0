import LFSSettings
import TestSupport
import Testing

/// libsecret and KWallet 5.103 do not agree on one session in sixty or so.
@Suite("Sessions of a keyring whose keys do not fit", .needsKeyring, .timeLimit(.minutes(3)))
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
        try await Keyring.with(.scripted) { keyring in
            let written = try await keyring.steps("set=secret")
            #expect(written == ["ok"])
            try keyring.script("\(kind):3")
            let said = try await keyring.steps("get", "get")
            #expect(said == ["secret", "secret"])
        }
    }

    @Test("A secret that was found in a session which cannot write is replaced in another one")
    func replacing() async throws {
        try await Keyring.with(.scripted) { keyring in
            let written = try await keyring.steps("set=secret")
            #expect(written == ["ok"])
            try keyring.script("oneway:3")
            let said = try await keyring.steps("set=more", "get")
            #expect(said == ["ok", "more"])
        }
    }

    @Test("Where no session fits it is an error, nothing else is written, and the former secret stays")
    func none() async throws {
        for kind in ["refused", "garbled"] {
            try await Keyring.with(.scripted) { keyring in
                let written = try await keyring.steps("set=secret")
                #expect(written == ["ok"])
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
