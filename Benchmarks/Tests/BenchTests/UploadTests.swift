import BenchKit
import Foundation
import Testing

@Suite("Command lines of the tools")
final class UploadTests {
    @Test("The uploader gets the bucket as one URL and a separate database")
    func uploader() throws {
        let command = try command(.lfs)
        #expect(
            command.arguments == [
                "push", "--database", "\(folder.path)/bench.db", "--to",
                "s3://bucket/a/b?endpoint=http://127.0.0.1:8333&region=eu%26west&addressing=path&provider=seaweedfs",
                "--max-executors", "10", "--progress", "none", "--quiet", "/files",
            ])
    }

    @Test("The C program gets a separate database and the number of connections")
    func wholeWay() throws {
        let command = try command(.wholeWay)
        #expect(
            command.arguments == [
                "/files", "\(folder.path)/bench.db", "s3", "http://127.0.0.1:8333", "bucket", "a/b", "10",
            ])
        #expect(command.environment["AWS_REGION"] == "eu&west")
    }

    @Test("Each tool copies into a new folder below the given one")
    func folders() throws {
        let (target, database) = ("\(folder.path)/a/b", "\(folder.path)/bench.db")
        #expect(
            try command(.lfs, to: .folder(folder.path)).arguments == [
                "push", "--database", database, "--to", "dir:\(target)", "--max-executors", "10", "--progress", "none",
                "--quiet", "/files",
            ])
        #expect(try command(.wholeWay, to: .folder(folder.path)).arguments == ["/files", database, "dir", target])
        #expect(
            try command(.rclone, to: .folder(folder.path)).arguments == ["copy", "--transfers", "10", "/files", target])
        #expect(try command(.cp, to: .folder(folder.path)).arguments.suffix(3) == ["/bin/cp", "/files", target])
        var isFolder: ObjCBool = false
        #expect(FileManager.default.fileExists(atPath: target, isDirectory: &isFolder) && isFolder.boolValue)
    }

    @Test("Files that cp has copied are synced, and an error of cp fails the run")
    func copy() throws {
        let source = try folder.makeFolder("it's \"here\"")
        try Data("toast".utf8).write(to: URL(fileURLWithPath: source + "/file-0.bin"))
        let results = try withRunner { runner, _ in
            try [source, "/no/such/folder"].map {
                try runner.run(command(.cp, source: $0, to: .folder(folder.path)))
            }
        }
        #expect(results.map(\.succeeded) == [true, false])
        let copy = "\(folder.path)/a/b/it's \"here\"/file-0.bin"
        #expect(try String(contentsOfFile: copy, encoding: .utf8) == "toast")
    }

    @Test("A tool that does not support the destination is refused")
    func places() throws {
        for place in [bucket, .folder(folder.path)] {
            for tool in Tool.allCases where !place.tools.contains(tool) {
                #expect(throws: (any Error).self) { try command(tool, to: place) }
            }
        }
        #expect(Set(bucket.tools + Destination.folder("/").tools) == Set(Tool.allCases))
    }

    @Test(
        "No tool shows a key in its arguments or gets settings of another server",
        arguments: Tool.allCases.filter { $0 != .cp })
    func keys(tool: Tool) throws {
        let command = try command(tool)
        #expect(!command.arguments.joined(separator: " ").contains("secret"))
        #expect(command.environment["AWS_SECRET_ACCESS_KEY"] == "secret\"key")
        #expect(command.environment["AWS_ENDPOINT_URL_S3"] == "http://127.0.0.1:8333")
        #expect(command.environment["AWS_PROFILE"] == nil)
        #expect(command.environment["AWS_CA_BUNDLE"] == "/authority.pem")
        #expect(command.environment["HOME"] == "/home")
    }

    @Test("Curl reads keys and files from a quoted configuration")
    func curl() throws {
        let arguments = try command(.curl, files: 2).arguments
        #expect(arguments.dropLast() == ["--parallel", "--parallel-max", "10", "--config"])
        let text = try String(contentsOfFile: try #require(arguments.last), encoding: .utf8)
        #expect(
            text == """
                silent
                show-error
                fail
                aws-sigv4 = "aws:amz:eu&west:s3"
                user = "key:secret\\"key"
                upload-file = "/files/file-0.bin"
                url = "http://127.0.0.1:8333/bucket/a/b/file-0.bin"
                upload-file = "/files/file-1.bin"
                url = "http://127.0.0.1:8333/bucket/a/b/file-1.bin"

                """)
    }

    @Test(
        "Files times parts equals the number of connections", arguments: [(1, "10"), (2, "5"), (4, "2"), (2_000, "1")])
    func parts(files: Int, parts: String) throws {
        for (tool, option) in [(Tool.s5cmd, "--concurrency"), (.rclone, "--s3-upload-concurrency")] {
            let arguments = try command(tool, files: files).arguments
            let index = try #require(arguments.firstIndex(of: option))
            #expect(arguments[index + 1] == parts)
        }
    }

    @Test("The files have the requested size and distinct content")
    func workload() throws {
        let temporary = try TemporaryFolder()
        defer { #expect(throws: Never.self) { try temporary.remove() } }
        let workload = Workload(files: 3, bytesPerFile: (1 << 20) + 7)
        try workload.make(in: temporary.path) {}
        let contents = try workload.names.map { try Data(contentsOf: URL(fileURLWithPath: "\(temporary.path)/\($0)")) }
        #expect(contents.map(\.count) == [1_048_583, 1_048_583, 1_048_583])
        #expect(Set(contents).count == 3)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).count == 3)
        #expect(throws: CancellationError.self) { try workload.make(in: temporary.path) { throw CancellationError() } }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    deinit { #expect(throws: Never.self) { try folder.remove() } }

    private let bucket = Destination.bucket(
        S3Server(
            endpoint: "http://127.0.0.1:8333", region: "eu&west", bucket: "bucket", accessKey: "key",
            secretKey: "secret\"key", provider: "seaweedfs"))

    private func command(
        _ tool: Tool, files: Int = 2_000, source: String = "/files", to destination: Destination? = nil
    ) throws -> ChildCommand {
        try Upload(
            workload: Workload(files: files, bytesPerFile: 10_240), source: source, destination: destination ?? bucket,
            prefix: "a/b", connections: 10, scratch: folder.path, obstoreScript: "/obstore-copy.py",
            environment: ["HOME": "/home", "AWS_PROFILE": "other", "AWS_CA_BUNDLE": "/authority.pem"]
        ).command(with: InstalledTool(tool, executable: "/bin/\(tool.rawValue)"))
    }
}
