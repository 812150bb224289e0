import Foundation
import LFSSettings
import Testing
import UploaderKit

@Suite("Settings of the uploader", .timeLimit(.minutes(10)))
struct SettingsTests {
    private static func settings(_ arguments: [String], in folder: URL) throws -> UploaderProcess.Result {
        let (command, rest) = (arguments[0], arguments.dropFirst())
        return try UploaderProcess(["settings", command, "--database", "a.sqlite"] + rest, in: folder).wait()
    }

    private static func withDatabase(_ body: (URL) throws -> Void) throws {
        try withFolder(files: 1) { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"]
            #expect(try UploaderProcess(push, in: folder).wait().status == 0)
            try body(folder)
        }
    }

    @Test("The list shows every setting with its default and its state")
    func list() throws {
        try Self.withDatabase { folder in
            #expect(
                try Self.settings(["list"], in: folder).output == """
                    account.endpoint  not set  (default)
                    account.serverURL  not set  (default)
                    account.user  not set  (default)
                    backup.automatic  false  (default)
                    backup.delay  0  (default)
                    backup.groups  not set  (default)
                    backup.requiresCharging  false  (default)
                    backup.requiresWiFi  true  (default)
                    cleanup.keepsContentTypes  not set  (default)
                    cleanup.keepsDays  0  (default)
                    cleanup.keepsFolders  not set  (default)

                    """)
            #expect(try Self.settings(["set", "backup.delay", "10m"], in: folder).status == 0)
            let list = try Self.settings(["list"], in: folder).output
            #expect(list.contains("backup.delay  10m  (set, default 0)\n"), "\(list)")
            #expect(try Self.settings(["set", "cleanup.keepsFolders", "/a"], in: folder).status == 0)
            #expect(try Self.settings(["list"], in: folder).output.contains("  /a  (set, default none)\n"))
            let json = try Self.settings(["list", "--json"], in: folder)
            #expect(json.events.map { $0["name"] as? String ?? "" }.count == 11)
            #expect(json.events.first { $0["name"] as? String == "backup.delay" }?["isSet"] as? Bool == true)
        }
    }

    static let written = [
        ("backup.automatic", "true"), ("backup.requiresCharging", "true"),
        ("backup.requiresWiFi", "false"), ("backup.delay", "90s"), ("backup.delay", "24h"),
        ("backup.groups", "include:/a,b,exclude:/a,b/c,none:/d"), ("account.endpoint", "http://127.0.0.1:8585"),
        ("account.serverURL", "https://photos.example"), ("cleanup.keepsContentTypes", "image/png,video/*"),
        ("cleanup.keepsDays", "30"), ("cleanup.keepsFolders", "/a,/b c"),
    ]

    @Test("A set value is printed as it was given, and its removal restores the default", arguments: written)
    func values(key: String, value: String) throws {
        try Self.withDatabase { folder in
            let before = try Self.settings(["get", key], in: folder)
            #expect(try Self.settings(["set", key, value], in: folder).status == 0)
            #expect(try Self.settings(["get", key], in: folder).output == "\(value)\n")
            #expect(try Self.settings(["remove", key], in: folder).status == 0)
            let after = try Self.settings(["get", key], in: folder)
            #expect(after.output == before.output && after.status == before.status)
        }
    }

    static let mistakes = [
        ("backup.requiresWiFi", "maybe", "true or false"), ("backup.delay", "25h", "from 0 to 24h"),
        ("backup.delay", "10", "from 0 to 24h"), ("backup.groups", "/a", "include:PATH"),
        ("backup.groups", "include:/a,exclude:a/b", "absolute paths"),
        ("account.serverURL", "http://photos.example", "Write https instead."),
        ("account.endpoint", "http://photos.example", "Write https instead."),
        ("backup.requiresWifi", "true", "backup.requiresWiFi"), ("account.serverURL", "photos", "https://host"),
        ("account.user", "me", "which 'sync' stores"), ("cleanup.keepsContentTypes", "image", "image/png,video/*"),
        ("cleanup.keepsDays", "36501", "from 0 to 36500"), ("cleanup.keepsFolders", "a", "absolute paths"),
    ]

    @Test(
        "An invalid value or key of a setting is refused with advice",
        arguments: mistakes)
    func wrong(key: String, value: String, advice: String) throws {
        try Self.withDatabase { folder in
            let result = try Self.settings(["set", key, value], in: folder)
            #expect(result.status == 1)
            #expect(result.messages.contains(advice), "\(result.messages)")
            #expect(try Self.settings(["list"], in: folder).output.components(separatedBy: "(default)").count == 12)
            guard key == "backup.requiresWifi" else { return }
            for command in ["get", "remove"] { #expect(try Self.settings([command, key], in: folder).status == 1) }
        }
    }

    @Test("The help explains each setting in a line that fits into 80 columns")
    func help() throws {
        try withFolder { folder in
            let lines = try UploaderProcess.run("settings", "set", "--help", in: folder).output.split(separator: "\n")
            #expect(lines.filter { $0.count > 79 } == [])
            #expect(lines.filter { $0.contains(/^(account|backup|cleanup)\.\w+: .+\.$/) }.count == 11, "\(lines)")
            let days = "cleanup.keepsDays: 'free' keeps copies used within this many days, 0 to 36500."
            #expect(lines.contains { $0 == days })
        }
    }

    @Test("The audit lists stored and unknown keys without their values")
    func audit() throws {
        try Self.withDatabase { folder in
            let groups = "include:/canary-in-a-path"
            #expect(try Self.settings(["set", "backup.groups", groups], in: folder).status == 0)
            try TestDatabase.execute(
                """
                INSERT INTO lfs_setting (name, value, serializer, version, updateID, updatedAt, isRemoved)
                SELECT 'gone.key', value, serializer, version, updateID, updatedAt, isRemoved FROM lfs_setting
                """, in: folder.appendingPathComponent("a.sqlite"))
            for arguments in [["audit"], ["audit", "--json"]] {
                let output = try Self.settings(arguments, in: folder).output
                #expect(output.contains("backup.groups") && output.contains("gone.key"), "\(output)")
                #expect(!output.contains("canary"))
            }
            let lines = try Self.settings(["audit"], in: folder).output.split(separator: "\n")
            #expect(lines.first == "account.endpoint  String, database, unprotected, not stored")
        }
    }

    @Test("An unreadable setting is reported in its line, and the others are listed")
    func unreadable() throws {
        try Self.withDatabase { folder in
            #expect(try Self.settings(["set", "backup.automatic", "true"], in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            try TestDatabase.execute("UPDATE lfs_setting SET value = x'00ff'", in: database)
            let list = try Self.settings(["list"], in: folder)
            #expect(list.status == 1)
            let lines = list.output.split(separator: "\n")
            #expect(lines.count == 11, "\(list.output)")
            #expect(lines.filter { $0.hasPrefix("backup.automatic  cannot be read: ") }.count == 1, "\(list.output)")
            #expect(lines.last == "cleanup.keepsFolders  not set  (default)")
            let events = try Self.settings(["list", "--json"], in: folder).events
            let problems = events.filter { $0["problem"] != nil }.map { $0["name"] as? String }
            #expect(events.count == 11 && problems == ["backup.automatic"])
            #expect(try Self.settings(["remove", "backup.automatic"], in: folder).status == 0)
            #expect(try Self.settings(["list"], in: folder).status == 0)
        }
    }

    @Test("Settings need an existing database")
    func otherDatabase() throws {
        try withFolder { folder in
            let list = try Self.settings(["list"], in: folder)
            #expect(list.status == 1)
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.sqlite").path))
        }
    }
}
