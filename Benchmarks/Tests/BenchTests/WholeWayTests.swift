import BenchKit
import Foundation
import GRDB
import Testing

/// Benchmarks is a separate package that must be built first: `swift build --package-path Benchmarks -c release`.
@Suite("The whole way in C", .enabled(if: WholeWay.isBuilt), .serialized, .timeLimit(.minutes(10)))
final class WholeWayTests {
    @Test("Uploads to a folder leave equal objects, confirmed rows and no jobs")
    func toFolder() throws {
        let (source, target) = (try makeFiles(70), try folder.makeFolder("target"))
        let result = try run(source, database, "dir", target)
        #expect(result.succeeded, "\(result.reason())")
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(report["files"] as? Int == 70)
        #expect(report["ok"] as? Int == 70)
        #expect(report["bytes"] as? Int == 70 * 3_000)
        let rows = try rows()
        #expect(rows.count == 70)
        for row in rows {
            let original = try Data(contentsOf: URL(fileURLWithPath: "\(source)/\(row.name)"))
            #expect(row.status == "remote")
            #expect(row.proof == "checksum")
            #expect(row.url == "file://\(target)/\(row.key)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(target)/\(row.key)")) == original)
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(database).lfs/\(row.id)")) == original)
        }
        #expect(try names(in: "\(database).lfs/temporary").isEmpty)
    }

    @Test(
        "Uploads to a bucket are read back unchanged, in one piece or in parts",
        .enabled(if: TestServer.seaweedfs != nil))
    func toBucket() throws {
        let server = try #require(TestServer.seaweedfs)
        let source = try makeFiles(3)
        for (name, size) in [("middle", 300_000), ("large", 40 << 20), ("empty & ü", 0)] {
            try Data((0..<size).map { UInt8(truncatingIfNeeded: $0 >> 8 ^ $0) })
                .write(to: URL(fileURLWithPath: "\(source)/\(name)"))
        }
        try TestServer.makeBucket(server)
        let result = try run(source, database, "s3", server.endpoint, server.bucket, "a b/c", "3", server: server)
        #expect(result.succeeded, "\(result.reason())")
        let rows = try rows()
        #expect(rows.count == 6)
        for row in rows {
            #expect(row.url == "\(server.endpoint)/\(server.bucket)/a%20b/c/\(row.key)")
            #expect(row.proof == "checksum")
            let copy = "\(folder.path)/copy"
            try TestServer.curl(server, method: "GET", url: row.url ?? "", to: copy)
            #expect(
                FileManager.default.contentsEqual(atPath: copy, andPath: "\(source)/\(row.name)"), "\(row.name)")
        }
    }

    @Test(
        "A refusal by the server ends the program with status 1 and the reason",
        .enabled(if: TestServer.seaweedfs != nil))
    func refusal() throws {
        var server = try #require(TestServer.seaweedfs)
        server.secretKey = "another"
        let result = try run(
            try makeFiles(1), database, "s3", server.endpoint, server.bucket, "a", "1", server: server)
        #expect(result.status == 1)
        #expect(result.messages.contains("status 403"))
        #expect(try rows().map(\.status) == ["local"])
    }

    @Test("An existing database, a link or a missing folder ends the program with status 1")
    func errors() throws {
        let (source, target) = (try makeFiles(1), try folder.makeFolder("target"))
        #expect(try run(source + "/none", database, "dir", target).status == 1)
        #expect(try run(source, database, "dir", target).messages.contains("is there already"))
        try FileManager.default.createSymbolicLink(
            atPath: source + "/link", withDestinationPath: source + "/file-0.bin")
        let result = try run(source, database + "2", "dir", target)
        #expect(result.status == 1)
        #expect(result.messages.contains("whole-way: open link"))
        #expect(try run(source, database + "3", "dir", target + "/none").status == 1)
        #expect(try run(source, database + "3").status == 64)
        #expect(try run(source, database + "3", "all").status == 64)
    }

    @Test("Batches without an upload leave rows and jobs, single files only copies")
    func ingest() throws {
        let source = try makeFiles(70)
        #expect(try run(source, database, "ingest").succeeded)
        let rows = try rows()
        #expect(rows.count == 70)
        for row in rows {
            #expect(row.status == "local")
            let original = try Data(contentsOf: URL(fileURLWithPath: "\(source)/\(row.name)"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(database).lfs/\(row.id)")) == original)
        }
        let result = try run(source, database + "2", "each")
        struct Times: Decodable { var files: Int, p50: Double, p99: Double, longest: Double, seconds: Double }
        let times = try JSONDecoder().decode(Times.self, from: Data(result.output.utf8))
        #expect(times.files == 70)
        #expect(0 < times.p50 && times.p50 <= times.p99 && times.p99 <= times.longest && times.longest <= times.seconds)
        #expect(try names(in: "\(database)2.lfs/temporary").count == 70)
        #expect(!FileManager.default.fileExists(atPath: database + "2"))
    }

    // MARK: Running it

    private let folder: TemporaryFolder
    private var database: String { folder.path + "/bench.db" }

    init() throws { folder = try TemporaryFolder() }

    deinit { #expect(throws: Never.self) { try folder.remove() } }

    private func run(_ arguments: String..., server: S3Server? = nil) throws -> ChildResult {
        let keys = server.map {
            ["AWS_ACCESS_KEY_ID": $0.accessKey, "AWS_SECRET_ACCESS_KEY": $0.secretKey, "AWS_REGION": $0.region]
        }
        return try ChildRunner(folder: folder.path).run(
            ChildCommand(WholeWay.executable, arguments: arguments, environment: keys ?? [:]))
    }

    private func makeFiles(_ count: Int) throws -> String {
        let source = try folder.makeFolder("files")
        try Workload(files: count, bytesPerFile: 3_000).make(in: source) {}
        return source
    }

    private func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path)
    }

    // MARK: Looking at what is there

    private struct File: FetchableRecord, Decodable {
        var id, status, name, key: String
        var url, proof: String?
    }

    /// Returns the rows of the files, after a check that exactly the local files have a job.
    private func rows() throws -> [File] {
        try DatabaseQueue(path: database).read { db in
            let waiting = try String.fetchSet(db, sql: "SELECT fileID FROM job")
            #expect(try waiting == String.fetchSet(db, sql: "SELECT id FROM file WHERE status = 'local'"))
            return try File.fetchAll(db, sql: "SELECT * FROM file")
        }
    }
}

/// The compiled C program.
private enum WholeWay {
    static let executable = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent(".build/release/whole-way").path

    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: executable) }
}
