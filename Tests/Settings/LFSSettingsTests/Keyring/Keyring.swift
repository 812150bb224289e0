import Foundation
import TestSupport
import Testing

/// A session bus with a keyring for one test. Tests/Keyring/session runs it and ends with the test.
struct Keyring: Sendable {
    enum Kind: String, Sendable {
        /// GNOME's keyring, unlocked.
        case gnome
        /// The Secret Service of Tests/Keyring/scripted.
        case scripted
        /// A bus without a service.
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
            async let status = ToolRun(session, arguments: ["run", kind.rawValue, keyring.home.path]).finish()
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

    /// Runs a body with the scripted service after one process has set the secret.
    static func withSecret(_ body: (Keyring) async throws -> Void) async throws {
        try await with(.scripted) { keyring in
            let written = try await keyring.steps("set=secret")
            #expect(written == ["ok"])
            try await body(keyring)
        }
    }

    /// Runs a body with the scripted service after another program has stored a secret.
    static func withForeignSecret(_ body: (Keyring) async throws -> Void) async throws {
        try await with(.scripted) { keyring in
            let stored = try await keyring.secretTool(
                "printf 'another secret' | secret-tool store --label=x service example")
            #expect(stored != nil)
            try await body(keyring)
        }
    }

    /// Sends the session a command and returns its output.
    @discardableResult
    func tell(_ command: String) async throws -> String {
        var run = ToolRun(Self.session, arguments: ["do", home.path, command])
        run.output = home.deletingLastPathComponent().child("said")
        let status = try await run.finish()
        let said = String(decoding: try Data(contentsOf: run.output ?? home), as: UTF8.self)
        try #require(status == 0, "\(command): \(said)")
        return said
    }

    /// Sets the behavior of the scripted service from now on.
    func script(_ words: String) throws { try Data(words.utf8).write(to: home.child("script")) }

    /// Makes the bus start the scripted service on the next call.
    func startsByItself() throws {
        let scripted = URL(fileURLWithPath: Self.session).deletingLastPathComponent().child("scripted")
        let service = "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=\(scripted.path) \(home.path)\n"
        try Data(service.utf8).write(to: home.child("services").child("org.freedesktop.secrets.service"))
    }

    /// Returns the methods of the scripted service that were called.
    func calls() throws -> [String] {
        let lines = String(decoding: try Data(contentsOf: home.child("calls")), as: UTF8.self)
        return lines.split(separator: "\n").map(String.init)
    }

    /// Runs steps of the helper on this bus.
    func steps(_ steps: String..., with further: [String: String] = [:]) async throws -> [String] {
        try await HelperRun("steps", in: folder, arguments: ["keychain"] + steps)
            .steps(environment: environment.merging(further) { $1 })
    }

    /// The environment of a process on this bus. It contains nothing of the user's own session.
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

    /// The environment of a process without a session.
    static var withoutSession: [String: String] {
        let outer = ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "LFS_KEYRING"]
        return ProcessInfo.processInfo.environment.filter { !outer.contains($0.key) }
    }

    /// Runs `secret-tool` and returns its output. Returns nil when it fails, for example because the secret does not
    /// exist.
    func secretTool(_ command: String) async throws -> String? {
        var run = ToolRun("sh", arguments: ["-c", command])
        run.environment = environment
        run.output = home.deletingLastPathComponent().child("printed")
        guard try await run.finish() == 0 else { return nil }
        return String(decoding: try Data(contentsOf: run.output ?? home), as: UTF8.self)
    }

    static let session = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().child("Keyring").child("session").path

    /// Indicates that this machine has the tools of a session. Tests/run-tests installs them.
    static let isInstalled: Bool = {
        let tools = ["dbus-daemon", "dbus-send", "gnome-keyring-daemon", "secret-tool"]
        do {
            return try tools.allSatisfy { try runTool("which", arguments: [$0]) }
                && runTool("/usr/bin/python3", arguments: ["-c", "import dbus; from gi.repository import GLib"])
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
