import BenchKit
import Foundation
import Testing

@Suite("Interference with the app's writes", .timeLimit(.minutes(10)))
struct InterferenceTests {
    @Test("The log measures the transactions of LFS from BEGIN to COMMIT, not those of apps")
    func transactions() {
        var log = TransactionLog(hostTable: "note")
        let start = ContinuousClock.now
        func run(_ sql: String, from: Int, to: Int) {
            log.starts(sql, at: start + .milliseconds(from))
            log.ends(sql, at: start + .milliseconds(to))
        }
        run("PRAGMA data_version", from: 0, to: 5)
        run("BEGIN IMMEDIATE TRANSACTION", from: 10, to: 11)
        run("UPDATE lfs_file SET status = ?", from: 12, to: 15)
        run("COMMIT TRANSACTION", from: 16, to: 30)
        run("BEGIN IMMEDIATE TRANSACTION", from: 100, to: 101)
        run("INSERT INTO note (text) VALUES (?)", from: 102, to: 103)
        run("COMMIT TRANSACTION", from: 104, to: 200)
        run("BEGIN IMMEDIATE TRANSACTION", from: 300, to: 301)
        run("ROLLBACK TRANSACTION", from: 302, to: 305)
        // A COMMIT without a BEGIN is ignored.
        run("COMMIT TRANSACTION", from: 400, to: 405)
        let milliseconds = log.durations.map { ($0 * 1_000).rounded() }
        #expect(milliseconds == [20, 5])
    }

    @Test("Ratios are computed per sample and shown in the table")
    func report() throws {
        func latencies(_ median: Double, p99: Double) -> Latencies {
            Latencies(count: 100, median: median, p99: p99, maximum: 2 * p99)
        }
        let report = InterferenceReport(
            bytesPerFile: 10_240, pauseMilliseconds: 2, latencyMilliseconds: 10, connections: 10,
            samples: [(0.002, 0.004), (0.003, 0.001), (0.004, 0.005)].map { median, p99 in
                InterferenceSample(
                    files: 1_000, uploadSeconds: 2, idle: latencies(0.002, p99: 0.003),
                    during: latencies(median, p99: p99),
                    ownCommits: latencies(0.001, p99: 0.01))
            })
        #expect(report.medianRatio == 1.5)
        #expect(abs(try #require(report.addedP99) - 0.001) < 1e-12)
        #expect(report.longestCommit == 0.02)
        #expect(
            report.description == """
                1,000 uploads of 10 KiB beside the app's own writes, one each 2 ms; the storage takes 10 ms, \
                10 connections, 3 rounds

                                         count  p50 ms  p99 ms  longest ms
                app's writes, idle         100   2.000   3.000       6.000
                app's writes, uploading    100   3.000   4.000       8.000
                LFS's transactions         100   1.000  10.000      20.000

                p50 uploading/idle: 1.50. p99 uploading − idle: 1.000 ms; the longest transaction of LFS: 20.000 ms.
                500 uploads a second. All values are medians of the rounds.
                """)
    }

    @Test("The command measures idle writes, writes during uploads and own commits")
    func command() throws {
        let report = try BenchProcess.report(
            InterferenceReport.self, arguments: "interference", "--files", "40",
            "--size", "1KiB", "--writes", "11", "--latency",
            "20", "--connections", "4", "--rounds", "2")
        #expect(report.samples.count == 2)
        #expect(report.bytesPerFile == 1_024)
        for sample in report.samples {
            #expect(sample.files == 40)
            #expect(sample.idle.count == 11)
            // Ten rounds of four uploads, each of which takes 20 ms.
            #expect(sample.uploadSeconds >= 0.2)
            #expect(sample.during.count > 1)
            #expect((1...40).contains(sample.ownCommits.count))
            for latencies in [sample.idle, sample.during, sample.ownCommits] {
                #expect(0 < latencies.median)
                #expect(latencies.median <= latencies.p99)
                #expect(latencies.p99 <= latencies.maximum)
            }
        }
    }
}
