import Foundation
import Synchronization
import Testing

@Suite("Sync of two devices", .enabled(if: SyncServerProcess.path != nil), .timeLimit(.minutes(10)))
struct SyncTests {
    /// Runs the uploader of one device with the storage `remote`.
    private struct Device {
        let folder: URL
        let database: String
        let token: String
        let url: String

        func start(_ command: String, arguments: String...) throws -> UploaderProcess {
            try start([command] + ["--sync", url] + arguments)
        }

        private func start(_ words: [String]) throws -> UploaderProcess {
            let options = ["--database", database, "--to", "dir:remote", "--progress", "none"]
            return try UploaderProcess(
                [words[0]] + options + words.dropFirst(), in: folder, environment: ["LFS_SYNC_TOKEN": token])
        }

        @discardableResult func run(_ command: String, arguments: String...) throws -> UploaderProcess.Result {
            let result = try start([command] + ["--sync", url] + arguments).wait()
            #expect(result.status == 0, "\(command): \(result.messages)")
            return result
        }

        /// Changes rows in a way that sync does not notice.
        func damage(_ sql: String) throws {
            try TestDatabase.execute(
                "UPDATE lfs_state SET isApplying = 1; \(sql); UPDATE lfs_state SET isApplying = 0",
                in: folder.appendingPathComponent(database))
        }

        /// Returns the sorted names of the device's files with their statuses.
        func names() throws -> [String] {
            try TestDatabase.entries(in: folder.appendingPathComponent(database))
                .map { "\(URL(fileURLWithPath: $0.path).lastPathComponent) \($0.status)" }.sorted()
        }
    }

    private func run(_ body: (URL, SyncServerProcess, Device, Device) throws -> Void) throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("remote"), withIntermediateDirectories: true)
            let server = try SyncServerProcess(in: folder)
            let (one, two) = (try server.addSession(), try server.addSession())
            try body(
                folder, server, Device(folder: folder, database: "one.sqlite", token: one, url: server.url),
                Device(folder: folder, database: "two.sqlite", token: two, url: server.url))
        }
    }

    private func objects(_ folder: URL) throws -> Int {
        let names = FileManager.default.enumerator(atPath: folder.appendingPathComponent("remote").path)
        return names?.filter { ($0 as? String)?.split(separator: "/").last?.count == 36 }.count ?? 0
    }

    private func write(_ name: String, data: Data, folder: URL) throws {
        try data.write(to: folder.appendingPathComponent("files/\(name)"))
    }

    @Test("A device lists, pulls and removes what the other device has pushed")
    func wholeWay() throws {
        try run { folder, server, one, two in
            let data = [randomData(300_000), randomData(10), Data()]
            for (number, data) in data.enumerated() { try write("\(number)", data: data, folder: folder) }
            try one.run("push", arguments: "files")
            try two.run("pull", arguments: "--synced", "--output", "copy")
            for (number, data) in data.enumerated() {
                #expect(try Data(contentsOf: folder.appendingPathComponent("copy/files/\(number)")) == data)
            }
            #expect(try two.names() == ["0 remote", "1 remote", "2 remote"])
            let id = try TestDatabase.entries(in: folder.appendingPathComponent("two.sqlite")).first {
                $0.path.hasSuffix("/1")
            }?.id
            #expect(try objects(folder) == 3)
            try two.run("remove", arguments: try #require(id))
            #expect(try objects(folder) == 2)
            try one.run("sync")
            #expect(try one.names() == ["0 remote", "2 remote"])
            for device in [one, two] {
                let verified = try UploaderProcess(
                    ["verify", "--database", device.database, "--to", "dir:remote"], in: folder
                ).wait()
                #expect(verified.status == 0, "\(verified.output)")
            }
            #expect(try server.stop() == 0)
        }
    }

    @Test("A full account is reported, and the changes are synced once there is room")
    func fullAccount() throws {
        try run { folder, server, one, _ in
            for name in ["a", "b"] { try write(name, data: randomData(1_000), folder: folder) }
            try server.setQuota("--file-bytes", "1500")
            let push = try one.start("push", arguments: "files").wait()
            #expect(push.status == 3 && push.output.contains("; the rows were not synced"), "\(push)")
            let words = "the account may have at most 1500 bytes of files."
            #expect(push.messages.contains("not synced: \(words)"), "\(push.messages)")
            let sync = try one.start("sync", arguments: "--json").wait()
            let event = try #require(sync.events.first { $0["event"] as? String == "synced" })
            let limit = try #require((event["exceeded"] as? [[String: Any]])?.first)
            #expect(limit["limit"] as? String == "fileBytes" && limit["value"] as? Int == 1_500)
            #expect(sync.status == 3 && event["sent"] as? Int == 0, "\(sync)")
            let verify = try one.start("sync", arguments: "--verify").wait()
            #expect(verify.status == 3 && !verify.output.contains("the same\n"), "\(verify)")
            let status = try UploaderProcess.run("status", "--database", one.database, in: folder)
            #expect(status.output.contains("not shared: \(words)"), "\(status.output)")
            try server.setQuota("--file-bytes", "default")
            let synced = try one.run("sync")
            #expect(!synced.messages.contains("not synced"))
        }
    }

    @Test("Sync uses the server or the endpoint of the settings, and stores the account", arguments: [false, true])
    func account(hasEndpoint: Bool) throws {
        try run { folder, _, one, _ in
            try write("a", data: Data("a".utf8), folder: folder)
            try one.run("push", arguments: "files")
            let user = try UploaderProcess.run(
                "settings", "get", "--database", one.database, "account.user", in: folder)
            #expect(user.status == 0 && !user.output.isEmpty, "\(user)")
            let sync = ["sync", "--database", one.database, "--to", "dir:remote"]
            let environment = ["LFS_SYNC_TOKEN": one.token]
            let unknown = try UploaderProcess(sync, in: folder, environment: environment).wait()
            #expect(unknown.status == 64 && unknown.messages.contains("account.serverURL"), "\(unknown)")
            // The endpoint takes precedence over the server, which does not exist then.
            let addresses =
                hasEndpoint
                ? [("account.serverURL", "https://photos.example"), ("account.endpoint", one.url)]
                : [("account.serverURL", one.url)]
            for (key, url) in addresses {
                let set = try UploaderProcess.run("settings", "set", "--database", one.database, key, url, in: folder)
                #expect(set.status == 0, "\(set)")
            }
            let known = try UploaderProcess(sync, in: folder, environment: environment).wait()
            #expect(known.status == 0, "\(known)")
        }
    }

    /// Pushes a file of one device, and syncs the other through a proxy that requires a client certificate.
    ///
    /// - Parameter options: writes the files of the options into the folder, and returns the options.
    private func syncThroughProxy(
        _ options: (TestAuthority, URL) throws -> [String],
        _ check: (UploaderProcess.Result, _ received: String, _ names: [String]) throws -> Void
    ) throws {
        try run { folder, server, one, two in
            try write("a", data: Data("a".utf8), folder: folder)
            try one.run("push", arguments: "files")
            try two.run("sync")
            try write("b", data: Data("b".utf8), folder: folder)
            try one.run("push", arguments: "files")
            let authority = try TestAuthority(in: folder)
            let certificate = try TestCertificate("proxy", in: folder)
            let port = try #require(URL(string: server.url)?.port)
            let proxy = try TLSProxy(certificate, before: port, in: folder, requiring: authority.certificate)
            let sync = ["sync", "--database", two.database, "--to", "dir:remote"]
            let result = try UploaderProcess(
                sync + ["--sync", "https://127.0.0.1:\(proxy.port)"] + options(authority, folder), in: folder,
                environment: ["LFS_SYNC_TOKEN": two.token, "CURL_CA_BUNDLE": certificate.certificate]
            ).wait()
            try check(result, try proxy.received, try two.names())
            try proxy.stop()
        }
    }

    @Test("A sync server behind a proxy gets the client certificate and the header fields")
    func clientCertificate() throws {
        try syncThroughProxy { authority, folder in
            try authority.identity("client").pem.write(to: folder.appendingPathComponent("client.pem"))
            try Data("X-Door: canary\n".utf8).write(to: folder.appendingPathComponent("headers"))
            return ["--client-certificate", "client.pem", "--headers-file", "headers"]
        } _: { result, received, names in
            #expect(result.status == 0, "\(result)")
            #expect(names == ["a remote", "b remote"])
            let requests = received.lowercased().components(separatedBy: " http/1.1\r\n").dropFirst()
            #expect(!requests.isEmpty && requests.allSatisfy { $0.contains("x-door: canary\r\n") }, "\(received)")
        }
    }

    @Test("A sync without the required client certificate ends with a message")
    func noClientCertificate() throws {
        try syncThroughProxy { _, _ in
            []
        } _: { result, received, names in
            #expect(result.status == 3, "\(result)")
            #expect(result.messages.contains("requires a client certificate"), "\(result)")
            #expect(received == "" && names == ["a remote"])
        }
    }

    @Test("The sync server is reached through the proxy of the environment")
    func environmentProxy() throws {
        try run { folder, _, one, _ in
            let hosts = Mutex<[String]>([])
            let proxy = try AnsweringServer { request, _ in
                hosts.withLock { $0.append("\(request.method) \(request.path)") }
                return .init(status: 407)
            }
            try write("a", data: Data("a".utf8), folder: folder)
            let options = ["--database", one.database, "--to", "dir:remote"]
            #expect(try UploaderProcess(["push"] + options + ["files"], in: folder).wait().status == 0)
            let result = try UploaderProcess(
                ["sync"] + options + ["--sync", "https://sync.example"], in: folder,
                environment: ["LFS_SYNC_TOKEN": one.token, "https_proxy": proxy.url.absoluteString, "no_proxy": ""]
            ).wait()
            #expect(result.status == 3, "\(result)")
            #expect(hosts.withLock { $0.first } == "CONNECT sync.example:443", "\(result)")
        }
    }

    @Test("A comparison with the server restores lost rows")
    func comparison() throws {
        try run { folder, _, one, two in
            for name in ["a", "b"] { try write(name, data: Data(name.utf8), folder: folder) }
            try one.run("push", arguments: "files")
            #expect(
                try two.run("sync", arguments: "--verify").output.contains(
                    "2 kinds of rows with the server: the same\n"))
            try two.damage("DELETE FROM uploader_document WHERE path LIKE '%/a'")
            try two.run("sync")
            #expect(try two.names() == ["b remote"])
            let compared = try two.run("sync", arguments: "--verify")
            #expect(compared.output.contains("with the server: different\n"), "\(compared.output)")
            #expect(compared.messages.contains("1 on this device, 2 on the server; they are now the same."))
            #expect(try two.names() == ["a remote", "b remote"])
        }
    }

    @Test("A sync from scratch restores changed and lost rows")
    func fromScratch() throws {
        try run { folder, _, one, two in
            for name in ["a", "b"] { try write(name, data: Data(name.utf8), folder: folder) }
            try one.run("push", arguments: "files")
            try two.run("sync")
            // Both sides have the same ids, so the comparison finds nothing.
            try two.damage("UPDATE uploader_document SET path = path || '-damaged' WHERE path LIKE '%/b'")
            try two.run("sync", arguments: "--verify")
            #expect(try two.names() == ["a remote", "b-damaged remote"])
            try two.damage("DELETE FROM uploader_document WHERE path LIKE '%/a'")
            try two.run("sync", arguments: "--from-scratch")
            #expect(try two.names() == ["a remote", "b remote"])
        }
    }

    @Test("A file whose document is missing is still listed and pulled")
    func withoutDocument() throws {
        try run { folder, _, one, two in
            try write("a", data: Data("bytes".utf8), folder: folder)
            try one.run("push", arguments: "files")
            try two.run("sync")
            try two.damage("DELETE FROM uploader_document")
            #expect(try UploaderProcess.run("list", "--database", "two.sqlite", in: folder).output.contains("  a\n"))
            try two.run("pull", arguments: "--synced", "--output", "copy")
            #expect(try Data(contentsOf: folder.appendingPathComponent("copy/a")) == Data("bytes".utf8))
        }
    }

    @Test("An unreachable sync server does not stop an upload, and gets its rows later")
    func away() throws {
        try run { folder, server, one, two in
            try write("a", data: randomData(1_000), folder: folder)
            server.kill()
            let pushed = try one.start("push", arguments: "files").wait()
            #expect(pushed.status == 3)
            #expect(pushed.messages.contains("not synced"))
            #expect(pushed.output.contains("1 uploaded, 0 failed"), "\(pushed)")
            #expect(pushed.output.hasSuffix("s; the rows were not synced\n"), "\(pushed)")
            #expect(try one.names() == ["a remote"])
            try server.start()
            try one.run("sync")
            try two.run("sync")
            #expect(try two.names() == ["a remote"])
        }
    }

    @Test("A removal deletes the object only after the sync server has accepted it")
    func heldRemoval() throws {
        try run { folder, server, one, two in
            try write("a", data: randomData(1_000), folder: folder)
            try one.run("push", arguments: "files")
            try two.run("sync")
            let id = try #require(try TestDatabase.ids(in: folder.appendingPathComponent("two.sqlite")).first)
            server.kill()
            #expect(try two.start("remove", arguments: id).wait().status == 1)
            #expect(try objects(folder) == 1)
            try server.start()
            try two.run("sync")
            #expect(try objects(folder) == 0)
        }
    }

    @Test("Two devices that push the same path have two files")
    func samePath() throws {
        try run { folder, _, one, two in
            try write("a", data: Data("one".utf8), folder: folder)
            try one.run("push", arguments: "files")
            try write("a", data: Data("two".utf8), folder: folder)
            try two.run("push", arguments: "files")
            try one.run("sync")
            for device in [one, two] { #expect(try device.names() == ["a remote", "a remote"]) }
            try two.run("pull", arguments: "--synced", "--output", "copy")
            let names = try FileManager.default.subpathsOfDirectory(
                atPath: folder.appendingPathComponent("copy").path)
            #expect(names.filter { $0.hasSuffix("a") }.count == 2, "\(names)")
        }
    }

    @Test("Every run reports a name that is not UTF-8 and fails")
    func noText() throws {
        try run { folder, _, one, two in
            try write("good", data: Data("good".utf8), folder: folder)
            #expect(try RestoreTests.shell("echo odd > \"$(printf 'files/bad\\377')\"", in: folder))
            for _ in 1...2 {
                let pushed = try one.start("push", arguments: "files").wait()
                #expect(pushed.status == 3, "\(pushed)")
                #expect(pushed.messages.contains("bad\\xFF: its name is not UTF-8"), "\(pushed.messages)")
            }
            // The file belongs to the other device.
            try two.run("sync")
        }
    }

    @Test("A wrong token is refused and not printed, and a missing one is reported")
    func tokens() throws {
        try run { folder, _, one, _ in
            try write("a", data: Data(), folder: folder)
            let wrong = Device(folder: folder, database: "x.sqlite", token: "wrong-token", url: one.url)
            let refused = try wrong.start("sync").wait()
            #expect(refused.status == 3)
            let advice = "Set LFS_SYNC_TOKEN to a token from 'lfs-server session add'."
            #expect(refused.messages.contains(advice) && !refused.messages.contains("Sign in again"), "\(refused)")
            #expect(!(refused.messages + refused.output).contains("wrong-token"))
            let none = Device(folder: folder, database: "y.sqlite", token: "", url: one.url)
            let missing = try none.start("sync").wait()
            #expect(missing.status == 1 && missing.messages.contains("LFS_SYNC_TOKEN"))
        }
    }

    @Test("A live sync receives rows of the other device, until a signal ends it")
    func live() throws {
        try run { folder, _, one, two in
            let live = try two.start("sync", arguments: "--live", "--json")
            while live.process.isRunning, try !live.outputSoFar().contains("synced") { usleep(2_000) }
            try write("a", data: Data("bytes".utf8), folder: folder)
            try one.run("push", arguments: "files")
            while live.process.isRunning, try two.names() != ["a remote"] { usleep(2_000) }
            live.process.terminate()
            #expect(try live.wait().status == 143)
        }
    }

    /// `LFS_SYNC_KILLS` sets the number of kills.
    @Test("Devices and server that are killed at random converge without a loss")
    func kills() throws {
        let rounds = ProcessInfo.processInfo.environment["LFS_SYNC_KILLS"].flatMap { Int($0) } ?? 12
        try run { folder, server, one, two in
            for round in 0..<rounds {
                let name = "\(round % 7)"
                try write(name, data: randomData(Int.random(in: 0..<200_000)), folder: folder)
                let victim = Int.random(in: 0..<3)
                let pushing = try one.start("push", arguments: "--give-up-after", "2s", "files")
                let syncing = try two.start("sync", arguments: "--give-up-after", "2s")
                usleep(UInt32.random(in: 0..<150_000))
                switch victim {
                case 0: Foundation.kill(pushing.process.processIdentifier, SIGKILL)
                case 1: Foundation.kill(syncing.process.processIdentifier, SIGKILL)
                default: server.kill()
                }
                for process in [pushing, syncing] { _ = try process.wait() }
                if victim == 2 { try server.start() }
            }
            try one.run("push", arguments: "files")
            try two.run("sync")
            try one.run("sync")
            let names = Set((0..<min(rounds, 7)).map { "\($0) remote" }).sorted()
            for device in [one, two] { #expect(try device.names() == names) }
            #expect(try objects(folder) == names.count)
            try two.run("pull", arguments: "--synced", "--output", "copy")
            for number in 0..<min(rounds, 7) {
                let pair = ["files/\(number)", "copy/files/\(number)"].map { folder.appendingPathComponent($0) }
                #expect(FileManager.default.contentsEqual(atPath: pair[0].path, andPath: pair[1].path), "\(number)")
            }
        }
    }
}
