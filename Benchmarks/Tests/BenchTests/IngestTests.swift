import BenchKit
import Testing

@Suite("Ingest of files", .timeLimit(.minutes(10)))
struct IngestTests {
    @Test("Ratios compare within a round, and only single files have percentiles")
    func report() throws {
        func sample(_ measure: IngestMeasure, tool: Tool, round: Int, seconds: Double) -> IngestSample {
            let each = Latencies(count: 10, median: seconds / 10, p99: seconds / 5, maximum: seconds)
            let isEach = measure == .each
            return IngestSample(
                measure: measure, tool: tool, round: round,
                times: IngestTimes(files: measure == .large ? 1 : 10, seconds: seconds, each: isEach ? each : nil))
        }
        let report = IngestReport(
            small: Workload(files: 10, bytesPerFile: 10_240), large: Workload(files: 1, bytesPerFile: 64 << 20),
            samples: [
                sample(.each, tool: .lfs, round: 1, seconds: 0.04),
                sample(.each, tool: .wholeWay, round: 1, seconds: 0.02),
                sample(.each, tool: .lfs, round: 2, seconds: 0.02),
                sample(.each, tool: .wholeWay, round: 2, seconds: 0.02),
                sample(.batches, tool: .lfs, round: 1, seconds: 0.01),
                sample(.large, tool: .lfs, round: 1, seconds: 0.5),
                sample(.large, tool: .cp, round: 1, seconds: 1),
            ], missing: [MissingTool(.wholeWay, reason: "it is not built")])
        #expect(report.ratio(.each, to: .wholeWay) == 1.5)
        #expect(report.ratio(.large, to: .cp) == 0.5)
        #expect(report.ratio(.batches, to: .wholeWay) == nil)
        #expect(
            report.description == """
                10 files of 10 KiB, and one of 64 MiB, 2 rounds

                                 p50 ms  p99 ms  ms a file  MiB/s  lfs/tool p50   p99   all
                each, lfs         3.000   6.000      3.000    3.3             –     –     –
                each, whole-way   2.000   4.000      2.000    4.9          1.50  1.50  1.50
                batches, lfs          –       –      1.000    9.8             –     –     –
                large, lfs            –       –    500.000  128.0             –     –     –
                large, cp             –       –   1000.000   64.0             –     –  0.50

                Medians of the rounds. lfs/tool is the median of each round's ratio.
                Without whole-way: it is not built.
                """)
    }

    @Test("The command ingests the same files with each method in each round")
    func command() throws {
        let report = try BenchProcess.report(
            IngestReport.self, arguments: "ingest", "--files", "70", "--size",
            "1KiB", "--large-size", "3MiB", "--rounds", "2")
        let tools: [Tool] = report.missing.isEmpty ? [.lfs, .wholeWay, .cp] : [.lfs, .cp]
        for measure in IngestMeasure.allCases {
            for tool in measure.tools where tools.contains(tool) {
                let samples = report.samples.filter { $0.measure == measure && $0.tool == tool }
                #expect(samples.map(\.round) == [1, 2])
                for times in samples.map(\.times) {
                    #expect(times.files == (measure == .large ? 1 : 70))
                    #expect(times.seconds > 0)
                    if measure == .each {
                        let each = try #require(times.each)
                        #expect(each.count == 70)
                        #expect(each.median <= each.p99 && each.p99 <= times.seconds)
                    }
                }
            }
        }
        #expect(report.samples.contains { $0.tool == .cp })
    }
}
