import Foundation
import Testing

@Suite("Interactions of old versions", .timeLimit(.minutes(10)))
struct VersionRowsTests {
    @Test("Equal files have separate versions, and shared objects are kept")
    func shared() throws {
        try withVersionedFiles { files in
            for name in ["a", "b"] { try files.write("same", to: name) }
            try files.push("--keep-versions", "forever")
            #expect(files.objects() == 1)
            try files.write("other")
            try files.push()
            // The version belongs to `a`, and the content is current in `b`.
            #expect(try files.versions("files/a").count == 2 && files.versions("files/b").count == 1)
            try files.push("--keep-versions", "none")
            try files.run("pull", words: "files/b", "--output", "out")
            #expect(files.read("out/files/b") == "same")
            // Both files have had this content.
            try files.write("same")
            try files.push("--keep-versions", "forever")
            for name in ["a", "b"] { try files.write("new \(name)", to: name) }
            try files.push()
            let id = try #require(Set(files.old()).count == 2 ? files.versions("files/b").last?["id"] as? String : nil)
            let removed = try files.run("remove", words: "files/a", "--json")
            #expect(removed.summary?["versions"] as? Int == 2, "\(removed.output)")
            try files.run("pull", words: id, "--output", "old")
            #expect(files.read("old/files/b") == "same" && files.read("old/files/a") == nil)
            // A removed file deletes its object only if the object is not an old version of another file.
            try files.write("same", to: "c")
            try files.push()
            try files.run("remove", words: "files/c")
            try files.run("pull", words: id, "--output", "again")
            #expect(files.read("again/files/b") == "same")
        }
    }

    @Test("Removing a file removes its versions, and removing an id only that version")
    func remove() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "three", "four"], words: "--keep-versions", "forever")
            let ids = try files.old()
            try #require(ids.count == 3)
            let would = try files.run("remove", words: "--dry-run", ids[0], "--json")
            #expect(would.events.first?["isVersion"] as? Bool == true)
            let one = try files.run("remove", words: ids[0], "--json")
            #expect(one.events.first?["isVersion"] as? Bool == true && one.events.first?["id"] as? String == ids[0])
            #expect(one.summary?["removed"] as? Int == 0 && one.summary?["versions"] as? Int == 1)
            #expect(one.summary?["versionBytes"] as? Int == 5)
            #expect(try files.old() == Array(ids.dropFirst()) && files.objects() == 3)
            let dry = try files.run("remove", words: "--dry-run", "files/a")
            #expect(dry.output.contains("/files/a  (and 2 old versions)"), "\(dry.output)")
            #expect(dry.output.hasSuffix("1 file to remove, 2 old versions\n"), "\(dry.output)")
            #expect(try files.run("remove", words: "-n", "files/a", "--json").events.first?["versions"] as? Int == 2)
            #expect(files.objects() == 3)
            let all = try files.run("remove", words: "files/a")
            #expect(all.output.contains("1 removed") && all.output.contains("2 old versions removed (6 B)"))
            #expect(files.objects() == 0)
            #expect(try files.count("lfs_file") == 0 && files.count("uploader_replaced") == 0)
        }
    }

    @Test("Removing an old version by its id removes all versions with that content")
    func twice() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "one", "three"], words: "--keep-versions", "forever")
            let id = try #require(try files.old().first)
            let removed = try files.run("remove", words: id, "--json")
            #expect(removed.summary?["versions"] as? Int == 2 && removed.summary?["versionBytes"] as? Int == 3)
            #expect(try files.old().count == 1 && files.objects() == 2)
        }
    }

    @Test("An id of both a file and an old version is refused by remove")
    func both() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "one"], words: "--keep-versions", "forever")
            let id = try #require(TestDatabase.entries(in: files.database).first?.id)
            #expect(try files.old().contains(id))
            for words in [[id], ["--dry-run", id]] {
                let remove = ["remove", "--database", "a.sqlite"] + (words.count == 1 ? ["--to", "dir:remote"] : [])
                let refused = try UploaderProcess(remove + words, in: files.folder).wait()
                #expect(refused.status == 3 && refused.messages.contains("give the path of the file"), "\(words)")
            }
            #expect(try files.old().count == 2 && files.objects() == 2)
            try files.run("pull", words: id, "--output", "out")
            #expect(files.read("out/files/a") == "one")
            #expect(try files.run("remove", words: "files/a", "--json").summary?["versions"] as? Int == 2)
            #expect(files.objects() == 0)
        }
    }

    @Test("Thousands of versions are removed in batches and reported as one removal")
    func thousands() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            try files.sql(
                """
                INSERT INTO uploader_replaced (documentId, fileId, replacedAt, replacedAge)
                SELECT documentId, fileId, replacedAt, replacedAge FROM uploader_replaced
                JOIN (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1700) SELECT i FROM n)
                """,
                // Stops before the last batch. The earlier batches are committed in transactions of their own.
                """
                CREATE TRIGGER ended BEFORE DELETE ON uploader_replaced
                WHEN (SELECT count(*) FROM uploader_replaced) = 201 BEGIN
                    SELECT RAISE(ABORT, 'here') FROM uploader_document WHERE title = 'stop'; END
                """,
                "UPDATE uploader_document SET title = 'stop'")
            let stopped = try files.run("remove", words: "files/a", exit: 3)
            #expect(stopped.messages.contains("here"), "\(stopped.messages)")
            #expect(try files.count("uploader_replaced") == 201 && files.objects() == 2)
            try files.sql(
                "DROP TRIGGER ended",
                """
                INSERT INTO uploader_replaced (documentId, fileId, replacedAt, replacedAge)
                SELECT r.documentId, r.fileId, r.replacedAt, r.replacedAge FROM uploader_replaced r
                JOIN (VALUES (1), (2), (3), (4), (5), (6), (7))
                """)
            let removed = try files.run("remove", words: "files/a", "--json")
            #expect(removed.summary?["versions"] as? Int == 1_608, "\(removed.output)")
            #expect(removed.summary?["versionBytes"] as? Int == 3 && removed.summary?["removed"] as? Int == 1)
            #expect(try files.count("uploader_replaced") == 0 && files.count("lfs_file") == 0)
            #expect(files.objects() == 0)
        }
    }

    @Test("A removal that conflicts with a change keeps the remaining versions")
    func keepsThousands() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            try files.sql(
                """
                INSERT INTO uploader_replaced (documentId, fileId, replacedAt, replacedAge)
                SELECT documentId, fileId, replacedAt, replacedAge FROM uploader_replaced
                JOIN (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) SELECT i FROM n)
                """,
                // Another process changes the file after the first batch.
                """
                CREATE TRIGGER quicker AFTER DELETE ON uploader_replaced
                WHEN (SELECT count(*) FROM uploader_replaced) = 701 BEGIN
                    UPDATE uploader_document SET fileId = (SELECT fileId FROM uploader_replaced LIMIT 1); END
                """)
            let removed = try files.run("remove", words: "files/a", exit: 3)
            #expect(removed.messages.contains("has changed during this run"), "\(removed.messages)")
            #expect(try files.count("uploader_replaced") == 701 && files.count("uploader_document") == 1)
        }
    }

    @Test("The copy of a pinned file is deleted when it becomes old, and the pin moves")
    func pinned() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "forever")
            let id = try #require(TestDatabase.entries(in: files.database).first?.id)
            try files.run("pin", words: "files/a")
            #expect(try files.count("lfs_copy WHERE isPinned") == 1)
            try files.push(["two"])
            #expect(try files.old() == [id])
            #expect(files.read("a.sqlite.lfs/\(id)") == nil)
            // The pin belongs to the new version.
            #expect(try files.count("lfs_copy WHERE isPinned AND fileID <> '\(id)'") == 1)
            #expect(try files.count("lfs_copy WHERE isPinned") == 1)
        }
    }

    @Test("Versions of a file whose original was deleted are removed with it")
    func gone() throws {
        try withVersionedFiles { files in
            try files.write("stays", to: "b")
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            try FileManager.default.removeItem(at: files.folder.appendingPathComponent("files/a"))
            #expect(try files.run("remove", words: "--gone", "--json").summary?["versions"] as? Int == 1)
            #expect(files.objects() == 1)
        }
    }

    @Test("Versions of a document that another device removed are removed")
    func orphaned() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            let document = try #require(TestDatabase.documents(in: files.database).values.first)
            try files.sql("DELETE FROM uploader_document WHERE id = '\(document)'")
            #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 1)
            #expect(try files.count("uploader_replaced") == 0)
        }
    }

    @Test("A recovered database has the old versions and the retention setting")
    func recovery() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "30d", "--save-database")
            let id = try #require(try files.old().first)
            // A changed setting alone also saves the database.
            try files.push("--keep-versions", "20d")
            for suffix in ["", ".lfs"] {
                try FileManager.default.removeItem(at: files.folder.appendingPathComponent("a.sqlite\(suffix)"))
            }
            let recover = ["recover", "--unauthenticated", "--from", "dir:remote", "--database", "a.sqlite"]
            #expect(try UploaderProcess(recover, in: files.folder).wait().status == 0)
            #expect(try files.old() == [id])
            try files.run("pull", words: id, "--output", "out")
            #expect(files.read("out/files/a") == "one")
            #expect(try files.run("status").output.contains("kept for 20d"))
        }
    }

    @Test("Verification reads old versions, and does not refer to their originals")
    func verification() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            let read = try files.run("verify", words: "--read-data", "--json")
            #expect(read.summary?["objectsRead"] as? Int == 2 && read.summary?["left"] as? Int == 0)
            let id = try #require(try files.old().first)
            let key = "remote/\(try #require(keys(files)[id]))"
            try FileManager.default.removeItem(at: files.folder.appendingPathComponent(key))
            let lost = try files.run("verify", words: "--repair", exit: 5)
            #expect(lost.output.contains("\(id) \(files.folder.path)"), "\(lost.output)")
            #expect(lost.output.contains("or remove it"), "\(lost.output)")
            #expect(!lost.output.contains("its original"), "\(lost.output)")
            try files.run("remove", words: id)
            try files.run("verify")
        }
    }

    private func keys(_ files: VersionedFiles) throws -> [String: String] {
        let events = try files.versions()
        return Dictionary(
            uniqueKeysWithValues: events.compactMap { event in
                guard let id = event["id"] as? String, let url = event["url"] as? String else { return nil }
                return (id, url.split(separator: "/").suffix(2).joined(separator: "/"))
            })
    }

    @Test("A file that lost its bytes becomes no old version")
    func damaged() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "forever")
            let entry = try #require(try TestDatabase.entries(in: files.database).first)
            for number in 0..<3 { try files.write("\(number)", to: "\(number)") }
            try files.push()
            try files.run("free")
            try FileManager.default.removeItem(at: files.folder.appendingPathComponent("remote/\(entry.key)"))
            try FileManager.default.removeItem(at: files.folder.appendingPathComponent("files/a"))
            try files.run("verify", words: "--repair", exit: 5)
            try files.push(["two"])
            #expect(try files.old().isEmpty)
            #expect(try files.count("lfs_file") == 4)
        }
    }

    @Test("Freeing and moving affect the current file only")
    func freesAndMoves() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            try files.push("--free-uploaded")
            try files.run("free")
            try files.push("--move")
            #expect(files.read("files/a") == nil)
            try files.write("three")
            try files.push("--move")
            let ids = try files.old()
            #expect(ids.count == 2 && files.objects() == 3)
            for (id, text) in zip(ids, ["two", "one"]) {
                try files.run("pull", words: id, "--output", text)
                #expect(files.read("\(text)/files/a") == text)
            }
            try files.run("pull", words: "--all", "--in-place", "--yes")
            #expect(files.read("files/a") == "three")
        }
    }

    // MARK: Rows that others have written

    @Test("A database of an earlier uploader is read unchanged and migrated by a push")
    func older() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            try files.sql(
                """
                CREATE TABLE old (
                    fileId TEXT PRIMARY KEY NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
                    documentId TEXT NOT NULL
                )
                """, "INSERT INTO old SELECT fileId, documentId FROM uploader_replaced",
                "DROP TABLE uploader_replaced", "ALTER TABLE old RENAME TO uploader_replaced",
                "ALTER TABLE uploader_storage DROP COLUMN keepVersions",
                "ALTER TABLE uploader_storage DROP COLUMN versionsAge",
                "ALTER TABLE uploader_storage DROP COLUMN versionsSeen",
                "DELETE FROM grdb_migrations WHERE identifier = 'uploader.versions'")
            let schema = try TestDatabase.schema(of: files.database)
            #expect(try files.run("list").output.split(separator: "\n").count == 1)
            #expect(try files.run("list", words: "--versions", exit: 1).messages.contains("run 'push' first"))
            try files.run("status", words: "--json")
            try files.run("pull", words: "--all", "--dry-run", "--output", "out")
            try files.run("pull", words: "--all", "--dry-run", "--as-of", "2999-01-01", "--output", "out")
            try files.run("remove", words: "--dry-run", "files/a")
            #expect(try TestDatabase.schema(of: files.database) == schema)
            // A replaced file of the earlier version is deleted, and does not become a version.
            #expect(try files.push("--keep-versions", "forever")["versions"] as? Int == 0)
            #expect(files.objects() == 1)
            try files.push(["three"])
            #expect(try files.old().count == 1)
        }
    }

    @Test("An invalid retention setting keeps all versions until it is set again")
    func unusableChoice() throws {
        for value in ["'soon'", "30", "x'ff'", "-1.5"] {
            try withVersionedFiles { files in
                try files.push(["one", "two"], words: "--keep-versions", "1d")
                try files.age(by: 5 * 86_400)
                try files.sql("UPDATE uploader_storage SET keepVersions = \(value)")
                let resumed = try files.run("resume", words: "--json")
                #expect(resumed.messages.contains("give --keep-versions to 'push'"), "\(resumed.messages)")
                #expect(resumed.summary?["versions"] as? Int == 0)
                #expect(try files.push("--keep-versions", "1d")["versions"] as? Int == 1)
            }
        }
    }

    @Test("Invalid rows of versions stop no command")
    func hostile() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "three", "four"], words: "--keep-versions", "30d")
            try files.sql(
                "PRAGMA foreign_keys = OFF",
                "UPDATE uploader_replaced SET stamp = x'ff', addedAt = 'never', replacedAt = -1e300 WHERE id = 1",
                "UPDATE uploader_replaced SET stamp = NULL, addedAt = 1e300, replacedAt = 1e300 WHERE id = 2",
                "UPDATE uploader_replaced SET documentId = x'ff' WHERE id = 3",
                """
                INSERT INTO uploader_replaced (documentId, fileId, replacedAt)
                SELECT id, fileId, 5 FROM uploader_document
                """,
                "UPDATE uploader_storage SET versionsAge = 'x', versionsSeen = 1e300")
            let lines = try files.versions()
            #expect(lines.count == 4, "\(lines)")
            let timeless = lines.filter { $0["current"] as? Bool == false && $0["replaced"] == nil }
            #expect(timeless.count == 2 && timeless.allSatisfy { $0["keptUntil"] == nil })
            try files.run("status", words: "--json")
            try files.run("remove", words: "--dry-run", "files/a")
            let id = try #require(lines.last?["id"] as? String)
            _ = try files.run("pull", words: id, "--output", "out", exit: 3)
            for time in ["1970-01-01", "2026-03-01", "9999-12-31T23:59:59Z"] {
                let pull = ["pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--as-of", time]
                let run = try UploaderProcess(pull + ["--output", "past"], in: files.folder).wait()
                #expect([0, 3].contains(run.status), "\(time): \(run.messages)")
            }
            let resumed = try files.run("resume", words: "--json")
            // Only the version without a document is removed. Invalid times remove none.
            #expect(resumed.summary?["versions"] as? Int == 1, "\(resumed.output)")
            #expect(files.objects() == 3)
            try files.run("pull", words: "files/a", "--output", "now")
            #expect(files.read("now/files/a") == "four")
        }
    }
}
