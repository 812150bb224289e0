import Foundation
import TestSupport
import Testing

/// A session bus of one test with a keyring on it: Tests/Keyring/session, which ends with the test.
struct Keyring: Sendable {
    enum Kind: String, Sendable {
        /// GNOME's keyring, unlocked.
        case gnome
        /// The Secret Service of Tests/Keyring/scripted.
        case scripted
        /// Nobody is on the bus.
        case bus
    }

    /// The home of the session.
    let home: URL
    /// The folder of the database.
    let folder: URL

    static func with(_ kind: Kind, _ body: (Keyring) async throws -> Void) async throws {
        try await withTemporaryFolder { parent in
            let keyring = Keyring(home: parent.child("k"), folder: parent.child("app"))
            try FileManager.default.createDirectory(
                at: keyring.folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            async let status = ToolRun(session, ["run", kind.rawValue, keyring.home.path]).finish()
            do {
                _ = try await keyring.tell("address")
                try await body(keyring)
                try await keyring.tell("stop")
            } catch {
                try await keyring.tell("stop")
                throw error
            }
            #expect(try await status == 0)
        }
    }

    /// The scripted service, in which one process has set the secret already.
    static func withSecret(_ body: (Keyring) async throws -> Void) async throws {
        try await with(.scripted) { keyring in
            let written = try await keyring.steps("set=secret")
            #expect(written == ["ok"])
            try await body(keyring)
        }
    }

    /// The scripted service, in which another program has stored something.
    static func withForeignSecret(_ body: (Keyring) async throws -> Void) async throws {
        try await with(.scripted) { keyring in
            let stored = try await keyring.secretTool(
                "printf 'another secret' | secret-tool store --label=x service example")
            #expect(stored != nil)
            try await body(keyring)
        }
    }

    /// Tells the session something, and returns what it says.
    @discardableResult
    func tell(_ command: String) async throws -> String {
        var run = ToolRun(Self.session, ["do", home.path, command])
        run.output = home.deletingLastPathComponent().child("said")
        let status = try await run.finish()
        let said = String(decoding: try Data(contentsOf: run.output ?? home), as: UTF8.self)
        try #require(status == 0, "\(command): \(said)")
        return said
    }

    /// What the scripted service does from now on.
    func script(_ words: String) throws { try Data(words.utf8).write(to: home.child("script")) }

    /// From now on the bus starts the scripted service when somebody calls it.
    func startsByItself() throws {
        let scripted = URL(fileURLWithPath: Self.session).deletingLastPathComponent().child("scripted")
        let service = "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=\(scripted.path) \(home.path)\n"
        try Data(service.utf8).write(to: home.child("services").child("org.freedesktop.secrets.service"))
    }

    /// The methods of the scripted service that were called.
    func calls() throws -> [String] {
        let lines = String(decoding: try Data(contentsOf: home.child("calls")), as: UTF8.self)
        return lines.split(separator: "\n").map(String.init)
    }

    /// Runs steps of the helper on this bus.
    func steps(_ steps: String..., with further: [String: String] = [:]) async throws -> [String] {
        try await HelperRun("steps", in: folder, ["keychain"] + steps)
            .steps(environment: environment.merging(further) { $1 })
    }

    /// What a process on this bus sees. Nothing of it is the user's own.
    var environment: [String: String] {
        var environment = Self.withoutSession
        environment["HOME"] = home.child("home").path
        environment["XDG_DATA_HOME"] = home.child("home").child("data").path
        environment["XDG_RUNTIME_DIR"] = home.child("home").child("run").path
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(home.path)/bus"
        environment["LFS_KEYRING"] = home.path
        environment["LFS_KEYRING_SESSION"] = Self.session
        return environment
    }

    /// What a process of no session sees.
    static var withoutSession: [String: String] {
        let outer = ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "LFS_KEYRING"]
        return ProcessInfo.processInfo.environment.filter { !outer.contains($0.key) }
    }

    /// Runs `secret-tool`, and returns what it prints. Nil when it fails, as for what is not there.
    func secretTool(_ command: String) async throws -> String? {
        var run = ToolRun("sh", ["-c", command])
        run.environment = environment
        run.output = home.deletingLastPathComponent().child("printed")
        guard try await run.finish() == 0 else { return nil }
        return String(decoding: try Data(contentsOf: run.output ?? home), as: UTF8.self)
    }

    static let session = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().child("Keyring").child("session").path

    /// Whether this machine has what a session needs. Tests/run-tests installs it.
    static let isInstalled: Bool = {
        let tools = ["dbus-daemon", "dbus-send", "gnome-keyring-daemon", "secret-tool"]
        do {
            return try tools.allSatisfy { try runTool("which", [$0]) }
                && runTool("/usr/bin/python3", ["-c", "import dbus; from gi.repository import GLib"])
        } catch { return false }
    }()
}

extension Trait where Self == ConditionTrait {
    static var needsKeyring: Self {
        .enabled(
            if: Keyring.isInstalled,
            "needs Debian's dbus-daemon, dbus-bin, gnome-keyring, libsecret-tools, python3-dbus and python3-gi")
    }
}
