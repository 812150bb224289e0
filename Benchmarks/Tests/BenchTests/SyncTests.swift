import BenchKit
import Foundation
import Testing

/// The path of the built `lfs-server`.
private let server = ProcessInfo.processInfo.environment["LFS_SERVER"]

@Suite("Sync of devices", .timeLimit(.minutes(10)))
struct SyncTests {
    private func sample(_ rows: Int, seconds: Double) -> FirstSyncSample {
        FirstSyncSample(
            rows: rows, seconds: seconds, cpuSeconds: seconds / 2, serverCPUSeconds: seconds / 2,
            extraBytes: 3 << 20, serverExtraBytes: 1 << 20)
    }

    @Test("The report computes ratios to rivals and the growth exponent")
    func report() throws {
        var sizes: [FirstSyncReport.Size] = []
        for rows in [1_000, 10_000] {
            var size = FirstSyncReport.Size(rows: rows)
            size.syncs = [1, 3, 2].map { sample(rows, seconds: Double(rows * $0) / 10_000) }
            if rows == 1_000 { size.scans = [1, 3, 2].map { sample(rows, seconds: Double(rows * $0) / 20_000) } }
            sizes.append(size)
        }
        let report = FirstSyncReport(sizes: sizes)
        #expect(abs(try #require(report.wallExponent) - 1) < 1e-9)
        #expect(sizes[0].ratio(to: sizes[0].scans) == 0.5)
        #expect(sizes[1].ratio(to: sizes[1].scans) == nil)
        #expect(
            report.description == """
                First sync of a device, 3 rounds

                                             seconds  rows/s  CPU s  server CPU s  MiB  server MiB  sync/this
                1,000 rows, sync               0.200   5,000  0.100         0.100  3.0         1.0          –
                1,000 rows, scan and insert    0.100  10,000  0.050             –  3.0           –       0.50
                10,000 rows, sync              2.000   5,000  1.000         1.000  3.0         1.0          –

                Medians of the rounds. For the memory, the largest growth of the process.
                sync/this is the median of each round's ratio of rows a second.
                The cost of a first sync grows with the rows to the power of 1.000 in wall time, 1.000 in CPU time.
                """)
    }

    @Test("The command syncs all rows to each device and measures its rivals", .enabled(if: server != nil))
    func first() throws {
        let report = try BenchProcess.report(
            FirstSyncReport.self, arguments: "sync", "first", "--rows", "1200,300",
            "--rounds", "2")
        #expect(report.sizes.map(\.rows) == [1_200, 300])
        for size in report.sizes {
            for samples in [size.syncs, size.scans, size.selects] {
                #expect(samples.map(\.rows) == [size.rows, size.rows])
                #expect(samples.allSatisfy { $0.seconds > 0 && $0.cpuSeconds > 0 })
            }
        }
        #expect(report.wallExponent != nil)
    }

    @Test("Growth is measured without rivals", .enabled(if: server != nil))
    func growth() throws {
        let report = try BenchProcess.report(
            FirstSyncReport.self, arguments: "sync", "growth", "--rows", "10,100",
            "--rounds", "1")
        #expect(report.sizes.allSatisfy { $0.syncs.count == 1 && $0.scans.isEmpty && $0.selects.isEmpty })
        #expect(report.cpuExponent != nil)
    }

    @Test("Every live session receives every commit", .enabled(if: server != nil))
    func live() throws {
        let report = try BenchProcess.report(
            SyncLiveReport.self, arguments: "sync", "live", "--sessions", "20",
            "--commits", "3", "--rounds", "1")
        let sample = try #require(report.samples.first)
        #expect(report.samples.count == 1 && sample.sessions == 20)
        #expect(sample.latencies.count == 60 && sample.latencies.median > 0)
        #expect(report.description.contains("sessions  KiB each"))
    }

    @Test("A changed row is received each time, and idle rounds are measured too", .enabled(if: server != nil))
    func changes() throws {
        let report = try BenchProcess.report(
            SyncChangesReport.self, arguments: "sync", "changes", "--rows", "500,2000",
            "--changes", "20", "--times", "3",
            "--rounds", "1")
        #expect(report.samples.map(\.rows) == [500, 2_000])
        #expect(report.samples.allSatisfy { $0.idle.count == 3 && $0.changed.count == 3 && $0.changed.median > 0 })
        #expect(report.growth ?? 0 > 0 && report.description.contains("times as long"))
    }

    @Test("Slow readers read at the given rate while other devices sync", .enabled(if: server != nil))
    func readers() throws {
        let report = try BenchProcess.report(
            SyncReadersReport.self, arguments: "sync", "readers", "--readers", "5",
            "--rate", "8192", "--rows", "3000",
            "--seconds", "2", "--rounds", "1")
        let sample = try #require(report.samples.first)
        #expect(sample.readers == 5 && sample.connections > 0)
        // Each of the five readers may have read once at the start.
        let most = 5.0 * (8_192 * sample.readSeconds + 164)
        #expect(sample.readSeconds >= 2 && sample.readBytes > 0 && Double(sample.readBytes) <= most)
        #expect(sample.alone.count == 100 && sample.beside.count == 100 && sample.serverBytes > sample.extraBytes)
        #expect(report.slowdown != nil)
    }

    @Test("Idle rounds of a device with many scopes are measured", .enabled(if: server != nil))
    func idle() throws {
        let report = try BenchProcess.report(
            SyncIdleReport.self, arguments: "sync", "idle", "--scopes", "1,30",
            "--times", "5", "--rounds", "1")
        #expect(report.samples.map(\.scopes) == [1, 30])
        #expect(report.samples.allSatisfy { $0.latencies.count == 5 && $0.latencies.median > 0 })
        #expect(report.description.contains("server CPU ms"))
    }

    @Test("An interrupted first sync resumes each time without repeated rows", .enabled(if: server != nil))
    func resume() throws {
        let report = try BenchProcess.report(
            SyncResumeReport.self, arguments: "sync", "resume", "--rows", "20000",
            "--cuts", "3", "--rounds", "1")
        let sample = try #require(report.samples.first)
        #expect(sample.rows == 20_000 && sample.cuts == 3 && sample.repeated == 0 && sample.firstRows.count == 2)
        #expect(report.description.contains("came twice"))
    }

    @Test("The app writes during a sync", .enabled(if: server != nil))
    func writes() throws {
        let report = try BenchProcess.report(
            SyncWritesReport.self, arguments: "sync", "writes", "--rows", "20000",
            "--writes", "20", "--rounds", "1")
        let sample = try #require(report.samples.first)
        #expect(sample.rows == 20_000 && sample.idle.count == 20 && sample.beside.count > 0)
        #expect(report.slowdown ?? 0 > 0 && report.description.contains("p99 ratio"))
    }
}
