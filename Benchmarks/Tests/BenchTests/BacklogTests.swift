import BenchKit
import Testing

@Suite("Backlog of uploads", .timeLimit(.minutes(10)))
struct BacklogTests {
    @Test("A constant cost per row has the exponent 1, and the table shows peak memory")
    func report() throws {
        let sizes = [1_000, 10_000].map { rows in
            BacklogReport.Size(
                rows: rows,
                samples: [1, 3, 2].map { scale in
                    BacklogSample(
                        uploads: 100, openSeconds: 0.01, firstUploadSeconds: 0.004 * Double(scale),
                        uploadSeconds: 0.05 * Double(scale), cpuSeconds: 0.02, extraBytes: Int64(scale) << 20)
                })
        }
        let idle = IdleSample(seconds: 10, cpuSeconds: 0.005, statements: ["PRAGMA data_version": 9])
        let report = BacklogReport(sizes: sizes, idle: idle)
        #expect(abs(try #require(report.wallExponent) - 1) < 1e-9)
        #expect(abs(try #require(report.cpuExponent) - 1) < 1e-9)
        #expect(
            report.description == """
                The first 100 uploads of a backlog, 3 rounds

                rows    open ms  first upload ms  ms an upload  CPU ms an upload  extra MiB
                1,000      10.0              8.0         1.000             0.200        3.0
                10,000     10.0              8.0         1.000             0.200        3.0

                Medians of the rounds. For the memory, the largest value.
                The cost of all rows grows with their number to the power of 1.000 in wall time, 1.000 in CPU time.
                An idle manager, watched for 10.0 s: 0.50 CPU ms a second.
                  0.90 times a second: PRAGMA data_version
                """)
    }

    @Test("The command measures uploads of each backlog and an idle manager")
    func command() throws {
        let report = try BenchProcess.report(
            BacklogReport.self, arguments: "backlog", "--rows", "600,1200",
            "--uploads", "20", "--rounds", "2", "--idle",
            "1.5")
        #expect(report.sizes.map(\.rows) == [600, 1_200])
        for size in report.sizes {
            #expect(size.samples.count == 2)
            for sample in size.samples {
                #expect(sample.uploads == 20)
                #expect(0 < sample.firstUploadSeconds)
                #expect(sample.firstUploadSeconds <= sample.uploadSeconds)
                #expect(sample.cpuSeconds > 0)
                #expect(sample.extraBytes > 0)
            }
        }
        #expect(report.wallExponent != nil)
        #expect(report.idle.seconds >= 1.5)
        // The manager checks once per second whether another process has written, and does nothing else.
        #expect(Set(report.idle.statements.keys) == ["PRAGMA data_version"])
        #expect((1...3).contains(report.idle.statements["PRAGMA data_version"] ?? 0))
    }
}
