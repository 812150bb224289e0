import Foundation
import Testing

@Suite("Restoring", .timeLimit(.minutes(10)))
struct RestoreTests {
    static let storage = ["--database", "a.sqlite", "--to", "dir:remote"]

    static func run(
        _ command: String, arguments: [String], in folder: URL, through wrapper: [String] = []
    ) throws -> UploaderProcess.Result {
        try UploaderProcess([command] + storage + arguments, in: folder, through: wrapper).wait()
    }

    /// Returns the changes that rsync would make to the other folder. The result is empty if both are equal.
    static func difference(_ source: String, other: String, in folder: URL) throws -> String {
        let words = ["-n", "-a", "--checksum", "--itemize-changes", "--delete", "\(source)/", "\(other)/"]
        let log = folder.appendingPathComponent(".rsync")
        let rsync = words.map { "'\($0)'" }.joined(separator: " ")
        #expect(try shell("rsync \(rsync) > '\(log.path)' 2>&1", in: folder))
        return String(decoding: try Data(contentsOf: log), as: UTF8.self)
    }

    static func shell(_ script: String, in folder: URL) throws -> Bool {
        try system("sh", "-c", "cd '\(folder.path)' && \(script)")
    }

    /// Creates a tree with everything that is restored.
    static let tree = """
        umask 022; cd files; mkdir -p plain empty/inner/innermost shut locked 'odd names' deep/a/b/c group
        for m in 600 644 755 444 400 666 777; do echo $m > plain/$m; chmod $m plain/$m; done
        echo program > plain/program; chmod 755 plain/program; echo g > plain/g; chmod 751 plain/g
        : > plain/nothing; head -c 3000000 /dev/urandom > plain/large
        chmod 700 empty/inner; chmod 750 shut; chmod 1777 empty; chmod 770 group; echo x > group/x
        printf 1 > "$(printf 'odd names/a\\nb')"; printf 2 > "$(printf 'odd names/\\377\\376')"
        printf 3 > 'odd names/ lead and trail '; printf 4 > 'odd names/-n'; printf 5 > 'odd names/é ü 漢 🦊'
        printf 6 > "$(printf 'odd names/e\\314\\201')"; printf 7 > 'odd names/*?[x]{y}'; printf 8 > 'odd names/\\'
        mkdir "$(printf 'odd names/\\303\\050')"; ln -s "$(printf '\\377/\\n')" 'odd names/link'
        ln -s 644 plain/relative; ln -s /etc/passwd plain/absolute; ln -s ../../../.. plain/up
        ln -s nothing-there plain/dangling; ln -s ../deep deep/self; ln -s . plain/here; ln -s /dev/zero deep/zero
        ln plain/644 plain/hard; ln plain/644 deep/hard
        echo one > locked/one; echo two > locked/two; mkdir locked/below; echo 3 > locked/below/3; ln -s one locked/l
        n=0; find . -depth | while IFS= read -r f; do n=$((n+1))
          touch -h -d "2019-03-0$((n%9+1)) 01:02:03.$((123456789+n))" "$f" 2>/dev/null || true; done
        chmod 500 locked/below; chmod 555 locked
        touch -d '1999-12-31 23:59:59.000000001' locked/below locked; touch -d '1969-07-20 20:17:40.5' plain/600
        """

    /// Runs the test as root and as another user.
    static let users: [[String]] =
        isRoot ? [[], ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]] : [[]]

    @Test(
        "A pull restores everything that rsync compares, also after a recovery",
        arguments: users)
    func proof(user: [String]) throws {
        try withFolder { folder in
            defer { #expect(throws: Never.self) { try system("chmod", "-R", "u+rwx", folder.path) } }
            if !user.isEmpty { #expect(try system("chown", "-R", "65534:65534", folder.path)) }
            #expect(try system(user + ["/bin/sh", "-c", "cd '\(folder.path)' && \(Self.tree)"]))
            let pushed = try Self.run(
                "push", arguments: ["--save-database", "--json", "files"], in: folder, through: user)
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(pushed.summary?["links"] as? Int == 9)
            #expect(pushed.summary?["folders"] as? Int == 15)
            let files = try #require(pushed.summary?["attached"] as? Int)
            #expect(pushed.summary?["skipped"] as? Int == 0)
            // The tree is unchanged, so nothing is written.
            let again = try Self.run("push", arguments: ["--json", "files"], in: folder, through: user)
            for (key, count) in ["unchanged": files, "touched": 0, "links": 0, "folders": 0, "gone": 0] {
                #expect(again.summary?[key] as? Int == count, "\(key)")
            }

            #expect(
                try UploaderProcess(["free", "--database", "a.sqlite"], in: folder, through: user).wait().status == 0)
            for database in ["a.sqlite", "b.sqlite"] {
                let output = "out-of-\(database)"
                let pull = [
                    "pull", "--database", database, "--to", "dir:remote", "--all", "--json", "--output", output,
                ]
                let pulled = try UploaderProcess(pull, in: folder, through: user).wait()
                #expect(pulled.status == 0, "\(pulled.messages)")
                #expect(pulled.summary?["pulled"] as? Int == files)
                #expect(pulled.summary?["links"] as? Int == 9)
                #expect(try Self.difference("files", other: output + "/files", in: folder) == "")
                // The second pull finds everything in place, and changes nothing.
                let second = try UploaderProcess(pull, in: folder, through: user).wait()
                #expect(second.status == 0, "\(second.messages)")
                #expect(second.summary?["unchanged"] as? Int == files && second.messages == "", "\(second.messages)")
                #expect(try Self.difference("files", other: output + "/files", in: folder) == "")
                // A missing file in a folder without write permission is restored, and nothing else is changed.
                #expect(
                    try Self.shell(
                        """
                        cd \(output)/files; chmod 755 locked; rm locked/one locked/l; chmod 555 locked
                        touch -d '1999-12-31 23:59:59.000000001' locked
                        """, in: folder))
                let third = try UploaderProcess(pull, in: folder, through: user).wait()
                #expect(third.status == 0 && third.summary?["pulled"] as? Int == 1, "\(third.messages)")
                #expect(try Self.difference("files", other: output + "/files", in: folder) == "")
                if database == "a.sqlite" {
                    let recover = ["recover", "--unauthenticated", "--from", "dir:remote", "--database", "b.sqlite"]
                    #expect(try UploaderProcess(recover, in: folder, through: user).wait().status == 0)
                }
            }
        }
    }

    @Test("A push records changes of attributes, links and folders")
    func changes() throws {
        try withFolder(files: 3) { folder in
            let make = """
                mkdir files/empty files/kept files/gone; ln -s 0.bin files/link; ln -s 1.bin files/away
                touch -d 2020-01-01 files/1.bin files/kept
                """
            #expect(try Self.shell(make, in: folder))
            #expect(try Self.run("push", arguments: ["--save-database", "files"], in: folder).status == 0)
            let copies = {
                try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote").filter {
                    $0.hasSuffix(".sqlite.gz")
                }
            }
            let before = try copies()
            let change = """
                chmod 750 files/0.bin; chmod 700 files/kept; ln -sfn 2.bin files/link; rm files/away; rmdir files/gone
                touch -d 2021-01-01 files/1.bin files
                """
            #expect(try Self.shell(change, in: folder))
            let pushed = try Self.run("push", arguments: ["--json", "files"], in: folder)
            #expect(pushed.status == 0)
            for (key, count) in ["attached": 0, "unchanged": 3, "touched": 2, "links": 1, "folders": 2, "gone": 2] {
                #expect(pushed.summary?[key] as? Int == count, "\(key)")
            }
            #expect(try copies() != before, "the copy on the storage has it, too")
            #expect(try Self.run("push", arguments: ["-n", "files"], in: folder).output.hasPrefix("0 files"))
            #expect(try Self.run("pull", arguments: ["--all", "--output", "out"], in: folder).status == 0)
            // Deleted folders and links stay recorded, as files do.
            let rsync = try Self.difference("files", other: "out/files", in: folder).split(separator: "\n")
            #expect(Set(rsync) == ["*deleting   gone/", "*deleting   away"])
            let removed = try Self.run("remove", arguments: ["files/gone", "files/away"], in: folder)
            #expect(
                removed.status == 0 && removed.output.contains("2 folders and links forgotten"), "\(removed.output)")
            #expect(try Self.run("pull", arguments: ["--all", "--output", "second"], in: folder).status == 0)
            #expect(try Self.difference("files", other: "second/files", in: folder) == "")
        }
    }

    @Test("The next push completes a database of an earlier version without reading files")
    func upgrade() throws {
        try withFolder(files: 2) { folder in
            #expect(try Self.shell("chmod 640 files/0.bin; chmod 711 files", in: folder))
            #expect(try Self.run("push", arguments: ["files"], in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            // A stamp of an earlier version has three parts.
            let old = "rtrim(rtrim(rtrim(stamp, '0123456789'), ':'), '0123456789')"
            try TestDatabase.execute(
                """
                DROP TABLE uploader_entry; ALTER TABLE uploader_storage DROP COLUMN entryChanges;
                DELETE FROM grdb_migrations WHERE identifier = 'uploader.restore';
                UPDATE lfs_source SET stamp = rtrim(rtrim(\(old), ':'), '01234567');
                UPDATE lfs_source SET stamp = rtrim(stamp, ':');
                UPDATE uploader_document SET stamp = rtrim(rtrim(\(old), ':'), '01234567');
                UPDATE uploader_document SET stamp = rtrim(stamp, ':');
                """, in: database)
            #expect(try Self.run("pull", arguments: ["--all", "--output", "first"], in: folder).status == 0)
            #expect(try Self.run("push", arguments: ["-n", "files"], in: folder).output.hasPrefix("0 files"))
            let pushed = try Self.run("push", arguments: ["files"], in: folder)
            #expect(pushed.output.contains("2 touched, 1 folder recorded"), "\(pushed)")
            #expect(try Self.run("pull", arguments: ["--all", "--output", "second"], in: folder).status == 0)
            #expect(try Self.difference("files", other: "second/files", in: folder) == "")
        }
    }

    @Test("The setuid and setgid bits are not restored", arguments: ["4", "2"])
    func specialBits(_ bit: String) throws {
        try withFolder(files: 1) { folder in
            let make = "mkdir files/shared; chmod \(bit)711 files/0.bin; chmod \(bit)770 files/shared"
            #expect(try Self.shell(make, in: folder))
            #expect(try Self.run("push", arguments: ["files"], in: folder).status == 0)
            let pulled = try Self.run("pull", arguments: ["--all", "--output", "out"], in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            for (name, mode) in [("0.bin", "711"), ("shared", "770")] {
                #expect(
                    try Self.shell("test $(stat -c %a out/files/\(name)) = \(mode)", in: folder), "\(name) \(mode)")
            }
        }
    }

    @Test("The sticky bit of a folder is restored for every user")
    func sticky() throws {
        try withFolder(files: 1) { folder in
            #expect(try Self.shell("mkdir files/shared; chmod 1777 files/shared", in: folder))
            #expect(try Self.run("push", arguments: ["files"], in: folder).status == 0)
            try TestDatabase.execute(
                "UPDATE uploader_entry SET userId = 99", in: folder.appendingPathComponent("a.sqlite"))
            #expect(try Self.run("pull", arguments: ["--all", "--output", "out"], in: folder).status == 0)
            #expect(try Self.shell("test $(stat -c %a out/files/shared) = 1777", in: folder))
        }
    }
}
