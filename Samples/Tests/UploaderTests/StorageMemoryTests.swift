import Foundation
import Testing
import UploaderKit

@Suite("The storage of a database", .timeLimit(.minutes(10)))
struct StorageMemoryTests {
    private func uploader(
        _ command: String, to storage: String, _ rest: String..., in folder: URL
    ) throws -> UploaderProcess.Result {
        try UploaderProcess([command, "--database", "a.sqlite", "--to", storage] + rest, in: folder).wait()
    }

    private func exists(_ name: String, in folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
    }

    @Test("Another one than files are on is refused by every command, and nothing is made there")
    func another() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", to: "dir:remote", "files", in: folder).status == 0)
            try randomData(100).write(to: folder.appendingPathComponent("files/new"))
            let id = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first?.id)
            for run in [
                try uploader("push", to: "dir:other", "files", in: folder),
                try uploader("push", to: "dir:other", "--dry-run", "files", in: folder),
                try uploader("resume", to: "dir:other", in: folder),
                try uploader("pull", to: "dir:other", "--all", "--output", "out", in: folder),
                try uploader("verify", to: "dir:other", "--repair", in: folder),
                try uploader("remove", to: "dir:other", id, in: folder),
            ] {
                #expect(run.status == 1)
                #expect(run.messages.contains("--change-storage"), "\(run.messages)")
                #expect(run.messages.contains(folder.resolvingSymlinksInPath().path + "/remote"), "\(run.messages)")
            }
            #expect(!exists("other", in: folder))
            #expect(!exists("out", in: folder))
            #expect(try TestDatabase.count("lfs_file", in: folder.appendingPathComponent("a.sqlite")) == 3)
        }
    }

    @Test("One that is said to be the new one is taken and remembered")
    func changed() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", to: "dir:remote", "files", in: folder).status == 0)
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent("remote"), to: folder.appendingPathComponent("other"))
            #expect(try uploader("resume", to: "dir:other", in: folder).status == 1)
            #expect(try uploader("resume", to: "dir:other", "--change-storage", in: folder).status == 0)
            #expect(try uploader("verify", to: "dir:other", in: folder).status == 0)
            #expect(try uploader("resume", to: "dir:remote", in: folder).status == 1)
        }
    }

    @Test("A folder is the same under any path that leads to it, and with another name as long as nothing is there")
    func samePlace() throws {
        try withFolder(files: 1) { folder in
            #expect(try uploader("push", to: "dir:remote", "files", in: folder).status == 0)
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("link"), withDestinationURL: folder.appendingPathComponent("remote"))
            for path in ["./remote/", "files/../remote", "link", folder.appendingPathComponent("remote").path] {
                #expect(try uploader("resume", to: "dir:\(path)", in: folder).status == 0, "\(path)")
            }
        }
        try withFolder(files: 0) { folder in
            #expect(try uploader("push", to: "dir:wrnog", "files", in: folder).status == 0)
            try randomData(100).write(to: folder.appendingPathComponent("files/new"))
            #expect(try uploader("push", to: "dir:wrong", "files", in: folder).status == 0)
        }
    }

    @Test(
        "A folder that is away is not made anew, and a pull does not succeed from local copies",
        arguments: [
            ["pull", "--all", "--output", "out"], ["verify"], ["resume"], ["push", "files"],
        ])
    func away(command: [String]) throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", to: "dir:remote", "files", in: folder).status == 0)
            try FileManager.default.moveItem(
                at: folder.appendingPathComponent("remote"), to: folder.appendingPathComponent("away"))
            let run = try UploaderProcess(
                [command[0], "--database", "a.sqlite", "--to", "dir:remote"] + command.dropFirst(), in: folder
            ).wait()
            #expect(run.status == 1)
            #expect(run.messages.contains("Is its disk mounted?"), "\(run.messages)")
            #expect(!exists("remote", in: folder))
            #expect(!exists("out", in: folder))
        }
    }

    @Test("A bucket is known by host, bucket and prefix, whatever the region, the letters or the port of a tunnel say")
    func buckets() {
        func place(_ endpoint: String?, _ bucket: String = "b", _ prefix: String = "p", _ region: String? = nil)
            -> String
        {
            StorageLocation(
                bucket: bucket, prefix: prefix, endpoint: endpoint.flatMap(URL.init(string:)), region: region
            ).description
        }
        #expect(place(nil) == "s3://amazonaws.com/b/p")
        #expect(place("https://s3.eu-west-1.amazonaws.com") == place(nil, "b", "p/", "us-east-1"))
        #expect(place(nil, "b", "p", "cn-north-1") == "s3://amazonaws.com.cn/b/p")
        #expect(place("http://127.0.0.1:8333") == place("http://localhost:41999/"))
        #expect(place("http://[::1]:8333") == "s3://localhost/b/p")
        #expect(place("https://Minio.Example:9000") == "s3://minio.example:9000/b/p")
        #expect(place("https://minio.example:443", "b", "") == "s3://minio.example/b")
        #expect(place("https://minio.example/base/", "b", "p/q/") == "s3://minio.example/base/b/p/q")
        #expect(place("https://minio.example", "c") != place("https://minio.example", "b"))
    }
}
