import BenchKit
import Foundation
import Testing

/// The bounds of memory and allocations of a first sync, in both processes.
@Suite(
    "Resources per row", .timeLimit(.minutes(10)),
    .enabled(if: ProcessInfo.processInfo.environment["LFS_SERVER"] != nil))
struct SyncBoundTests {
    @Test("Memory does not grow with the number of synced rows")
    func memory() throws {
        let report = try BenchProcess.report(
            FirstSyncReport.self, arguments: "sync", "growth", "--rows",
            "10000,200000", "--rounds", "1")
        let samples = report.sizes.compactMap(\.syncs.first).sorted { $0.rows < $1.rows }
        try #require(samples.map(\.rows) == [10_000, 200_000])
        // A row has 170 bytes on the wire, so all of them would be 31 MiB more.
        let (client, server) = (
            samples[1].extraBytes - samples[0].extraBytes, samples[1].serverExtraBytes - samples[0].serverExtraBytes
        )
        #expect(client < 12 << 20, "\(samples)")
        #expect(server < 6 << 20, "\(samples)")
        print("Bytes more with 200,000 rows than with 10,000: client \(client), server \(server)")
    }

    #if os(Linux)
    @Test("A row causes few allocations on the device and on the server")
    func allocations() throws {
        let few = try allocations(rows: 2_000)
        let many = try allocations(rows: 12_000)
        let (client, server) = (
            Double(many.client - few.client) / 10_000, Double(many.server - few.server) / 10_000
        )
        #expect((1...14).contains(client) && (1...24).contains(server), "\(client) \(server)")
        print("Allocations for each row: client \(client), server \(server)")
    }

    /// Returns the allocations of a device and its server during the sync of some rows, with their start and end.
    private func allocations(rows: Int) throws -> (client: Int, server: Int) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-count-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let library = folder.appendingPathComponent("count.so").path
        let counts = folder.appendingPathComponent("counts")
        let source = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Tests/Faults/allocations.c")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["clang", "-shared", "-fPIC", "-O1", "-o", library, source.standardized.path]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        _ = try BenchProcess.run(
            ["sync", "first", "--rows", "\(rows)", "--rounds", "1"],
            environment: ["LD_PRELOAD": library, "LFS_ALLOCATIONS": counts.path])
        let lines = try String(contentsOf: counts, encoding: .utf8).split(separator: "\n")
        func count(_ words: String) throws -> Int {
            let line = try #require(lines.first { $0.contains(words) }, "\(lines)")
            return try #require(line.split(separator: " ").first.flatMap { Int($0) })
        }
        return (try count(" probe sync-first "), try count("lfs-server serve "))
    }
    #endif
}
