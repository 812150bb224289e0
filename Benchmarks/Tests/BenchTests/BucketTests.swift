import BenchKit
import Foundation
import Testing

@Suite("Commands for objects of a bucket", .timeLimit(.minutes(10)))
final class BucketTests {
    @Test("Each tool processes the whole prefix and shows no key in its arguments")
    func tools() throws {
        for tool in BucketCommand.tools {
            for work in [BucketWork.download, .delete] {
                let command = try command(work, tool: tool)
                #expect(!command.arguments.joined(separator: " ").contains("secret"))
                #expect(command.environment["AWS_SECRET_ACCESS_KEY"] == "secret")
                #expect(tool == .curl || command.arguments.contains { $0.contains("bucket/a/b") })
            }
        }
        #expect(
            try command(.download, tool: .s5cmd).arguments.suffix(2) == [
                "s3://bucket/a/b/*", "\(folder.path)/fetched/",
            ])
        #expect(try command(.delete, tool: .rclone).arguments == ["delete", "--checkers", "10", "bench:bucket/a/b"])
        #expect(throws: (any Error).self) { try command(.delete, tool: .cp) }
    }

    @Test("Curl writes each object to a separate file, and deletes with DELETE")
    func curl() throws {
        let download = try configuration(.download)
        #expect(
            download.contains("output = \"\(folder.path)/fetched/1\"\nurl = \"http://127.0.0.1:8333/bucket/a/b/n/2\""))
        #expect(!download.contains("request"))
        let delete = try configuration(.delete)
        #expect(delete.components(separatedBy: "request = \"DELETE\"").count == 2)
        #expect(delete.components(separatedBy: "url = ").count == 3)
    }

    @Test("The commands download and delete the objects that they uploaded", .enabled(if: TestServer.seaweedfs != nil))
    func commands() throws {
        let server = try #require(TestServer.seaweedfs)
        try TestServer.makeBucket(server)
        for name in ["download", "delete"] {
            let text = try BenchProcess.run(
                [
                    name, "--files", "5", "--size", "3KiB", "--rounds", "2", "--tools", "lfs,curl", "--endpoint",
                    server.endpoint, "--region", server.region, "--bucket", server.bucket, "--provider", "seaweedfs",
                    "--json",
                ],
                environment: [
                    "AWS_ACCESS_KEY_ID": server.accessKey, "AWS_SECRET_ACCESS_KEY": server.secretKey,
                ])
            let report = try JSONDecoder().decode(ThroughputReport.self, from: Data(text.utf8))
            #expect(report.failures.isEmpty)
            #expect(report.runs.map(\.tool).filter { $0 == .lfs }.count == 2)
            #expect(report.runs.map(\.tool).filter { $0 == .curl }.count == 2)
            #expect(report.runs.allSatisfy { $0.wallSeconds > 0 && $0.bytes == 5 * 3_072 })
            #expect(report.ratios.map(\.tool) == [.curl])
        }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    deinit { #expect(throws: Never.self) { try folder.remove() } }

    private func command(_ work: BucketWork, tool: Tool) throws -> ChildCommand {
        let server = S3Server(
            endpoint: "http://127.0.0.1:8333", region: "eu", bucket: "bucket", accessKey: "key", secretKey: "secret")
        return try BucketCommand(
            work, server: server, prefix: "a/b", keys: ["a/b/n/1", "a/b/n/2"], connections: 10, scratch: folder.path,
            environment: [:]
        ).command(with: InstalledTool(tool, executable: "/bin/\(tool.rawValue)"))
    }

    private func configuration(_ work: BucketWork) throws -> String {
        let arguments = try command(work, tool: .curl).arguments
        return try String(contentsOfFile: try #require(arguments.last), encoding: .utf8)
    }
}
