import Foundation
import Testing

/// The page that documents the output of `--json`.
private struct JSONReference {
    /// The fields of each event, by the headings of the page.
    var fields: [String: Set<String>] = [:]
    /// The fields that only a sync server causes.
    var shared: [String: Set<String>] = [:]

    init() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Documentation/JSON.md")
        var (heading, isShared) = ("", false)
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("## ") { isShared = line == "## With --sync" }
            if line.hasPrefix("### ") { heading = String(line.dropFirst(4)).replacing("`", with: "") }
            guard line.hasPrefix("| `"), let name = line.split(separator: "`").dropFirst().first else { continue }
            if isShared {
                shared[heading, default: []].insert(String(name))
            } else {
                fields[heading, default: []].insert(String(name))
            }
        }
    }
}

/// The fields that commands have printed, by the headings of the page.
private struct PrintedFields {
    var fields: [String: Set<String>] = [:]

    mutating func add(_ command: String, result: UploaderProcess.Result) {
        for object in result.events {
            #expect(object["schema"] as? Int == 1 && object["event"] is String, "\(command): \(object)")
            let heading = Self.heading(command, object: object)
            fields[heading, default: []].formUnion(Self.names(object, in: heading))
        }
    }

    private static func heading(_ command: String, object: [String: Any]) -> String {
        let event = object["event"] as? String ?? ""
        if event == "summary", ["verify", "free"].contains(command) { return "summary of \(command)" }
        if event == "summary", object["fetchedBytes"] != nil { return "summary of pull --dry-run" }
        if event == "summary", object["files"] != nil { return "summary of push --dry-run and remove --dry-run" }
        return event == "freed" && command == "push" ? "freed by push" : event
    }

    private static func names(_ object: [String: Any], in heading: String) -> Set<String> {
        var names: Set<String> = []
        for (name, value) in object where !["event", "schema"].contains(name) {
            for inner in paths(value) {
                let path = name + inner
                let isReason = heading == "summary of free" && name == "stays"
                names.insert(isReason ? "stays.REASON." + (path.split(separator: ".").last ?? "") : path)
            }
        }
        // An object that has none of them.
        names.remove("stays.REASON.stays")
        return names
    }

    /// Returns the paths below a value. An empty list or object has none.
    private static func paths(_ value: Any) -> Set<String> {
        switch value {
        case let list as [[String: Any]]:
            Set(list.flatMap { item in item.flatMap { name, value in paths(value).map { "[].\(name)\($0)" } } })
        case is [Any]: []
        case let object as [String: Any]: Set(object.flatMap { name, value in paths(value).map { ".\(name)\($0)" } })
        default: [""]
        }
    }
}

@Suite("The reference of --json", .enabled(if: isRoot, "needs root to mount"), .timeLimit(.minutes(10)))
struct JSONReferenceTests {
    /// Runs commands on a database, and collects the fields that they print.
    private struct Session {
        let folder: URL
        var printed = PrintedFields()
        var database = "a.sqlite"
        var environment: [String: String] = [:]
        var file: URL { folder.appendingPathComponent(database) }

        @discardableResult
        mutating func run(
            _ words: String..., exit: Int32 = 0, through wrapper: [String] = []
        ) throws -> UploaderProcess.Result {
            // In a command of two words, both come before the options.
            let count = words[0] == "settings" ? 2 : 1
            let result = try UploaderProcess(
                words.prefix(count) + ["--json"] + (words[0] == "recover" ? [] : ["--database", database])
                    + words.dropFirst(count), in: folder, through: wrapper, environment: environment
            ).wait()
            #expect(result.status == exit, "\(words): \(result.messages)")
            printed.add(words.prefix(count).joined(separator: " "), result: result)
            return result
        }
    }

    @Test("The page lists exactly the JSON fields that are printed")
    func page() throws {
        let reference = try JSONReference()
        #expect(reference.fields.count > 20)
        let printed = try withRuns { $0.printed.fields }
        for (heading, fields) in printed {
            let known = reference.fields[heading, default: []]
            #expect(fields.subtracting(known).isEmpty, "\(heading): printed, and not on the page")
        }
        for (heading, fields) in reference.fields {
            #expect(
                fields.subtracting(printed[heading, default: []]).isEmpty, "\(heading): on the page, and not printed")
        }
    }

    @Test("The page lists exactly the JSON fields of a synced database", .enabled(if: SyncServerProcess.path != nil))
    func shared() throws {
        let reference = try JSONReference()
        try withFolder(files: 2) { folder in
            let server = try SyncServerProcess(in: folder)
            var session = Session(folder: folder, environment: ["LFS_SYNC_TOKEN": try server.addSession()])
            try session.run("push", "--to", "dir:remote", "--sync", server.url, "files")
            try session.run("sync", "--sync", server.url, "--verify")
            try session.run("status")
            let printed = session.printed.fields
            for heading in ["synced", "compared"] {
                #expect(printed[heading] == reference.shared[heading], "\(heading)")
            }
            let sync = printed["status", default: []].filter { $0.hasPrefix("sync.") }
            #expect(sync == reference.shared["status of a shared database"])
        }
    }

    private func withRuns<Value>(_ body: (Session) throws -> Value) throws -> Value {
        var value: Value?
        try withFolder(files: 6) { folder in
            var session = Session(folder: folder)
            try pushes(&session)
            try reads(&session)
            try damage(&session)
            try fullStorage(&session)
            try moves(&session)
            try versions(&session)
            try follows(&session)
            value = try body(session)
        }
        return try #require(value)
    }

    private func pushes(_ session: inout Session) throws {
        let folder = session.folder
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("files/link"), withDestinationURL: folder)
        try randomData(3 << 20).write(to: folder.appendingPathComponent("files/large"))
        try session.run("push", "--to", "dir:remote", "--dry-run", "files")
        try session.run("push", "--copy", "--to", "dir:remote", "--save-database", "files")
        try session.run("push", "--copy", "files", "--free-uploaded")
        try session.run("pull", "--all", "--output", "out")
        try session.run("pull", "nowhere", "--output", "out", exit: 3)
        try entries(&session)
        try session.run("remove", "--dry-run", "files/0.bin")
        try session.run("remove", "files/0.bin")
    }

    /// Covers links and folders, and the dry runs of a pull.
    private func entries(_ session: inout Session) throws {
        let folder = session.folder
        try session.run("pull", "--all", "--dry-run", "--output", "other")
        try Data("other".utf8).write(to: folder.appendingPathComponent("out/files/1.bin"))
        try session.run("pull", "--all", "--dry-run", "--overwrite", "--output", "out")
        #expect(chmod(folder.path + "/files/1.bin", 0o640) == 0)
        try FileManager.default.removeItem(at: folder.appendingPathComponent("files/link"))
        try session.run("push", "--copy", "files")
        try session.run("remove", "--dry-run", "files/link")
        try session.run("remove", "files/link")
    }

    private func reads(_ session: inout Session) throws {
        try session.run("list")
        let delay = ["settings", "set", "--database", "a.sqlite", "backup.delay", "1m"]
        #expect(try UploaderProcess(delay, in: session.folder).wait().status == 0)
        let database = session.folder.appendingPathComponent("a.sqlite")
        try TestDatabase.execute("UPDATE lfs_setting SET value = x'00ff'", in: database)
        try session.run("settings", "list", exit: 1)
        try session.run("recover", "--unauthenticated", "--from", "dir:remote")
        try session.run("recover", "--unauthenticated", "--from", "dir:remote", "--database", "b.sqlite")
        // The earlier files were freed and pulled, so new local copies are needed.
        for name in ["a", "b", "c"] {
            try randomData(10_240).write(to: session.folder.appendingPathComponent("files/\(name)"))
        }
        try session.run("push", "--copy", "files")
        let pin = try UploaderProcess.run("pin", "--database", "a.sqlite", "files/a", in: session.folder)
        #expect(pin.status == 0)
        try session.run("free", "--dry-run")
        for _ in 1...2 { try session.run("free", "files/b") }
        try session.run("free", "--keep-bytes", "1GiB")
        try session.run("free")
    }

    private func damage(_ session: inout Session) throws {
        let folder = session.folder
        let all = try TestDatabase.entries(in: session.file)
        let entries = try ["a", "1.bin", "2.bin"].map { name in
            try #require(all.first { $0.path.hasSuffix("/files/" + name) })
        }
        try session.run("verify", "--read-data")
        // One local copy is damaged, one object is missing, and the originals are moved away for a time.
        let local = folder.appendingPathComponent("a.sqlite.lfs/\(entries[0].id)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: local.path)
        try randomData(10_240).write(to: local)
        try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entries[1].key)"))
        let (files, aside) = (folder.appendingPathComponent("files"), folder.appendingPathComponent("aside"))
        try FileManager.default.moveItem(at: files, to: aside)
        try session.run("verify", "--content", "--repair", exit: 5)
        try TestDatabase.execute(
            """
            UPDATE lfs_state SET outageCode = 'unreachable', outageMessage = 'It is away.', outageSince = 1,
                failingSince = 1, holdReason = 'no power', holdSince = 1;
            UPDATE uploader_storage SET changedAt = 1;
            INSERT INTO lfs_tombstone (fileID, key, isHeld, status, byteCount, sha256, createdAt)
            VALUES ('held', 'held', 1, 'remote', 1, '', '2026-01-01');
            """, in: session.file)
        try session.run("list")
        try session.run("status")
        try TestDatabase.execute(
            "UPDATE uploader_storage SET changedAt = NULL; DELETE FROM lfs_tombstone WHERE fileID = 'held'",
            in: session.file)
        try FileManager.default.moveItem(at: aside, to: files)
        try session.run("push", "--copy", "files")
        try unread(&session, entry: entries[2])
        let (remote, away) = (folder.appendingPathComponent("remote"), folder.appendingPathComponent("away"))
        try FileManager.default.moveItem(at: remote, to: away)
        try FileManager.default.createDirectory(at: remote, withIntermediateDirectories: false)
        try session.run("verify", exit: 1)
        try FileManager.default.removeItem(at: remote)
        try FileManager.default.moveItem(at: away, to: remote)
    }

    private func unread(_ session: inout Session, entry: TestDatabase.Entry) throws {
        let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        #expect(try system("chown", "-R", "65534:65534", session.folder.path))
        let object = session.folder.appendingPathComponent("remote/\(entry.key)").path
        #expect(try system("chmod", "000", object))
        try session.run("verify", "--read-data", exit: 1, through: user)
        #expect(try system("chmod", "400", object))
        #expect(try system("chown", "-R", "0:0", session.folder.path))
    }

    private func fullStorage(_ session: inout Session) throws {
        session.database = "c.sqlite"
        try randomData(400_000).write(to: session.folder.appendingPathComponent("files/new"))
        try withMount(session.folder, options: "size=256k") { mount in
            try session.run(
                "push", "--to", "dir:\(mount.path)/remote", "--give-up-after", "15s", "files", exit: 3)
            try session.run("status")
        }
    }

    private func moves(_ session: inout Session) throws {
        session.database = "d.sqlite"
        let moved = session.folder.appendingPathComponent("moved")
        try FileManager.default.createDirectory(at: moved, withIntermediateDirectories: false)
        try randomData(1_000).write(to: moved.appendingPathComponent("a"))
        try session.run("push", "--to", "dir:remote-d", "--move", "moved")
    }

    private func versions(_ session: inout Session) throws {
        session.database = "g.sqlite"
        let file = session.folder.appendingPathComponent("versioned/a")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: false)
        for number in 0..<4 {
            try randomData(1_000 + number).write(to: file)
            try session.run("push", "--to", "dir:remote-g", "--keep-versions", "30d", "versioned")
        }
        try session.run("list", "--versions")
        try session.run("status")
        let old = try UploaderProcess.run("list", "--database", "g.sqlite", "--versions", "--json", in: session.folder)
        let id = try #require(old.events.last?["id"] as? String)
        try session.run("remove", "--dry-run", id, "versioned")
        try session.run("remove", id)
        try session.run("push", "--dry-run", "--keep-versions", "none", "versioned")
        try session.run("push", "--keep-versions", "1d", "versioned")
        try TestDatabase.execute(
            """
            UPDATE uploader_storage SET versionsAge = versionsAge + 100000;
            UPDATE uploader_replaced SET replacedAge = replacedAge + 100000 WHERE id <> 2;
            """, in: session.file)
        try session.run("resume")
        try session.run("remove", "versioned")
    }

    /// Runs `push --watch` to a folder and to an unreachable storage.
    private func follows(_ session: inout Session) throws {
        session.environment = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
        let away = "s3://photos?endpoint=http://127.0.0.1:1&addressing=path&region=x"
        for (database, storage, event) in [("e.sqlite", "dir:remote-e", "batch"), ("f.sqlite", away, "waiting")] {
            let uploader = try UploaderProcess(
                ["push", "--json", "--database", database, "--to", storage, "--watch", "--give-up-after", "0.5s"]
                    + ["files"], in: session.folder, environment: session.environment)
            defer { if uploader.process.isRunning { uploader.process.terminate() } }
            while uploader.process.isRunning {
                let events = try uploader.resultSoFar().events.compactMap { $0["event"] as? String }
                if events.contains(event), events.contains("watching") { break }
                usleep(5_000)
            }
            Foundation.kill(uploader.process.processIdentifier, SIGINT)
            let result = try uploader.wait()
            #expect(result.status == 130, "\(result.messages)")
            session.printed.add("push", result: result)
        }
    }
}
