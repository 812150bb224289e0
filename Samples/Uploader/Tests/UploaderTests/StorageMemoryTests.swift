import Foundation
import Testing
import UploaderKit

@Suite("The storage of a database", .timeLimit(.minutes(10)))
struct StorageMemoryTests {
    private func uploader(
        _ command: String, to storage: String, rest: String..., in folder: URL
    ) throws -> UploaderProcess.Result {
        try UploaderProcess([command, "--database", "a.sqlite", "--to", storage] + rest, in: folder).wait()
    }

    private func exists(_ name: String, in folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
    }

    @Test("Every command refuses a storage other than the database's")
    func another() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", to: "dir:remote", rest: "files", in: folder).status == 0)
            try randomData(100).write(to: folder.appendingPathComponent("files/new"))
            let id = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first?.id)
            for run in [
                try uploader("push", to: "dir:other", rest: "files", in: folder),
                try uploader("push", to: "dir:other", rest: "--dry-run", "files", in: folder),
                try uploader("resume", to: "dir:other", in: folder),
                try uploader("pull", to: "dir:other", rest: "--all", "--output", "out", in: folder),
                try uploader("verify", to: "dir:other", rest: "--repair", in: folder),
                try uploader("remove", to: "dir:other", rest: id, in: folder),
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

    @Test("A new storage is remembered with --change-storage")
    func changed() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", to: "dir:remote", rest: "files", in: folder).status == 0)
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent("remote"), to: folder.appendingPathComponent("other"))
            #expect(try uploader("resume", to: "dir:other", in: folder).status == 1)
            #expect(try uploader("resume", to: "dir:other", rest: "--change-storage", in: folder).status == 0)
            #expect(try uploader("verify", to: "dir:other", in: folder).status == 0)
            #expect(try uploader("resume", to: "dir:remote", in: folder).status == 1)
        }
    }

    @Test("A storage folder is recognized under every path")
    func samePlace() throws {
        try withFolder(files: 1) { folder in
            #expect(try uploader("push", to: "dir:remote", rest: "files", in: folder).status == 0)
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("link"), withDestinationURL: folder.appendingPathComponent("remote"))
            for path in ["./remote/", "files/../remote", "link", folder.appendingPathComponent("remote").path] {
                #expect(try uploader("resume", to: "dir:\(path)", in: folder).status == 0, "\(path)")
            }
        }
        try withFolder(files: 0) { folder in
            #expect(try uploader("push", to: "dir:wrnog", rest: "files", in: folder).status == 0)
            try randomData(100).write(to: folder.appendingPathComponent("files/new"))
            #expect(try uploader("push", to: "dir:wrong", rest: "files", in: folder).status == 0)
        }
    }

    @Test(
        "A missing storage folder is not created, and a pull from it fails",
        arguments: [
            ["pull", "--all", "--output", "out"], ["verify"], ["resume"], ["push", "files"],
        ])
    func away(command: [String]) throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", to: "dir:remote", rest: "files", in: folder).status == 0)
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

    @Test("A bucket is identified by host, bucket and prefix")
    func buckets() {
        func place(_ endpoint: String?, bucket: String = "b", prefix: String = "p", region: String? = nil)
            -> String
        {
            StorageLocation(
                bucket: bucket, prefix: prefix, endpoint: endpoint.flatMap(URL.init(string:)), region: region
            ).description
        }
        #expect(place(nil) == "s3://amazonaws.com/b/p")
        #expect(
            place("https://s3.eu-west-1.amazonaws.com") == place(nil, bucket: "b", prefix: "p/", region: "us-east-1"))
        #expect(place(nil, bucket: "b", prefix: "p", region: "cn-north-1") == "s3://amazonaws.com.cn/b/p")
        #expect(place("http://127.0.0.1:8333") == place("http://localhost:41999/"))
        #expect(place("http://[::1]:8333") == "s3://localhost/b/p")
        #expect(place("https://Minio.Example:9000") == "s3://minio.example:9000/b/p")
        #expect(place("https://minio.example:443", bucket: "b", prefix: "") == "s3://minio.example/b")
        #expect(place("https://minio.example/base/", bucket: "b", prefix: "p/q/") == "s3://minio.example/base/b/p/q")
        #expect(place("https://minio.example", bucket: "c") != place("https://minio.example", bucket: "b"))
    }

    @Test("Servers on different hosts of Amazon are different storages")
    func hostsOfAmazon() throws {
        let places = try ["a1", "b2"].map { name in
            let url = try #require(URL(string: "https://\(name).execute-api.eu-west-1.amazonaws.com/x"))
            return StorageLocation(server: url, scheme: "signed").description
        }
        #expect(
            places == [
                "signed://a1.execute-api.eu-west-1.amazonaws.com/x",
                "signed://b2.execute-api.eu-west-1.amazonaws.com/x",
            ])
    }
}
