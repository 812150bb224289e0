import Foundation
import Testing

@Suite("Pushing files from their places", .timeLimit(.minutes(10)))
struct InPlacePushTests {
    private func push(_ options: [String] = [], in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "dir:remote"] + options + ["files"], in: folder
        ).wait()
    }

    /// The local copies, which have ids as names.
    private func copies(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path + "/a.sqlite.lfs").filter { $0.count == 36 }
    }

    /// Removes the object of the only file, as if the upload had not happened.
    private func forgetUpload(in folder: URL) throws {
        let database = folder.appendingPathComponent("a.sqlite")
        let entry = try #require(TestDatabase.entries(in: database).first)
        try TestDatabase.forgetUpload(of: entry.id, in: database)
        try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entry.key)"))
    }

    private func objects(in folder: URL) throws -> [Data] {
        try TestDatabase.keys(in: folder.appendingPathComponent("a.sqlite")).map {
            try Data(contentsOf: folder.appendingPathComponent("remote/\($0)"))
        }
    }

    @Test("A push copies no file, and only the first push says so")
    func noCopies() throws {
        try withFolder(files: 3) { folder in
            let first = try push(in: folder)
            #expect(first.status == 0 && first.output.contains("from their places"), "\(first.output)")
            #expect(try copies(in: folder).isEmpty)
            let second = try push(in: folder)
            #expect(second.status == 0 && !second.output.contains("from their places"), "\(second.output)")
        }
    }

    @Test("A push with --copy keeps a copy of each file")
    func copies() throws {
        try withFolder(files: 3) { folder in
            let pushed = try push(["--copy"], in: folder)
            #expect(pushed.status == 0 && !pushed.output.contains("from their places"), "\(pushed.output)")
            #expect(try copies(in: folder).count == 3)
        }
    }

    @Test(
        "A file that changed before its upload is uploaded in its new form",
        arguments: [[], ["--keep-versions", "1d"]])
    func changed(options: [String]) throws {
        try withFolder(files: 1) { folder in
            #expect(try push(options, in: folder).status == 0)
            try forgetUpload(in: folder)
            let bytes = randomData(10_240)
            try bytes.write(to: folder.appendingPathComponent("files/0.bin"))
            let pushed = try push(options, in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
            // The earlier form was never uploaded, and its bytes are gone.
            #expect(try objects(in: folder) == [bytes])
            let verified = try UploaderProcess.run("verify", "--database", "a.sqlite", "--read-data", in: folder)
            #expect(verified.status == 0, "\(verified.output) \(verified.messages)")
        }
    }

    @Test("With --copy, the earlier form of a file that changed is kept as a version")
    func keptVersion() throws {
        try withFolder(files: 1) { folder in
            let options = ["--copy", "--keep-versions", "1d"]
            #expect(try push(options, in: folder).status == 0)
            try forgetUpload(in: folder)
            let bytes = randomData(10_240)
            try bytes.write(to: folder.appendingPathComponent("files/0.bin"))
            #expect(try push(options, in: folder).status == 0)
            #expect(try objects(in: folder).count == 2)
        }
    }

    @Test("A file that disappeared before its upload is reported with its path")
    func gone() throws {
        try withFolder(files: 2) { folder in
            #expect(try push(in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let entry = try #require(TestDatabase.entries(in: database).first { $0.path.hasSuffix("0.bin") })
            try TestDatabase.forgetUpload(of: entry.id, in: database)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entry.key)"))
            try FileManager.default.removeItem(at: folder.appendingPathComponent("files/0.bin"))
            let pushed = try push(in: folder)
            #expect(pushed.status == 3)
            #expect(pushed.messages.contains("files/0.bin: The original"), "\(pushed.messages)")
            #expect(pushed.messages.contains("was moved or deleted"), "\(pushed.messages)")
        }
    }
}
