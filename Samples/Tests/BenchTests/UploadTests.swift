import BenchKit
import Foundation
import Testing

@Suite("How the tools are called")
final class UploadTests {
    @Test("The uploader gets the bucket as one URL and a database of its own")
    func uploader() throws {
        let command = try command(.lfs)
        #expect(
            command.arguments == [
                "push", "--database", "\(folder.path)/bench.db", "--to",
                "s3://bucket/a/b?endpoint=http://127.0.0.1:8333&region=eu%26west&addressing=path&provider=seaweedfs",
                "--max-executors", "10", "--progress", "none", "--quiet", "/files",
            ])
    }

    @Test(
        "No tool shows a key on its command line, and none gets a setting of another server", arguments: Tool.allCases)
    func keys(tool: Tool) throws {
        let command = try command(tool)
        #expect(!command.arguments.joined(separator: " ").contains("secret"))
        #expect(command.environment["AWS_SECRET_ACCESS_KEY"] == "secret\"key")
        #expect(command.environment["AWS_ENDPOINT_URL_S3"] == "http://127.0.0.1:8333")
        #expect(command.environment["AWS_PROFILE"] == nil)
        #expect(command.environment["HOME"] == "/home")
    }

    @Test("Curl reads keys and files from a configuration that is quoted")
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

    @Test("Files times parts make up the connections", arguments: [(1, "10"), (2, "5"), (4, "2"), (2_000, "1")])
    func parts(files: Int, parts: String) throws {
        for (tool, option) in [(Tool.s5cmd, "--concurrency"), (.rclone, "--s3-upload-concurrency")] {
            let arguments = try command(tool, files: files).arguments
            let index = try #require(arguments.firstIndex(of: option))
            #expect(arguments[index + 1] == parts)
        }
    }

    @Test("The files have the size that was asked for, and bytes of their own")
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

    private func command(_ tool: Tool, files: Int = 2_000) throws -> ChildCommand {
        try Upload(
            workload: Workload(files: files, bytesPerFile: 10_240), source: "/files",
            server: S3Server(
                endpoint: "http://127.0.0.1:8333", region: "eu&west", bucket: "bucket", accessKey: "key",
                secretKey: "secret\"key", provider: "seaweedfs"),
            prefix: "a/b", connections: 10, scratch: folder.path, obstoreScript: "/obstore-copy.py",
            environment: ["HOME": "/home", "AWS_PROFILE": "other"]
        ).command(with: InstalledTool(tool, executable: "/bin/\(tool.rawValue)"))
    }
}
