import BenchKit
import Foundation
import Testing

@Suite("Reports")
struct ReportTests {
    @Test("The table shows medians, extremes, ratios, and tools that took no part")
    func table() {
        #expect(
            ThroughputTable(report()).description == """
                2,000 files of 10 KiB to http://127.0.0.1:8333, 10 connections, 3 rounds

                tool     wall s (min–max)  CPU s  peak MiB  files/s  lfs/tool wall   CPU
                lfs      1.00 (0.90–2.00)   0.40      48.0    2,000              –     –
                obstore  1.20 (1.00–4.00)   0.80      32.5    1,667           0.75  0.50

                Wall and CPU are medians, peak is the largest. lfs/tool is the median of each round's ratio.
                A peak of 20.0 MiB or less is not told apart: so much had this program when it started the tool.
                Without s5cmd: no s5cmd in PATH.
                curl failed in round 2: it ended with status 7.
                """)
    }

    @Test("Throughput of large files is shown in MiB per second")
    func largeFiles() {
        var report = report(Workload(files: 2, bytesPerFile: 512 << 20))
        report.missing = []
        #expect(ThroughputTable(report).description.contains("MiB/s"))
        #expect(ThroughputTable(report).description.contains("1,024"))
    }

    @Test("A ratio compares runs within a round, not medians")
    func ratios() {
        // 0.9 / 1.2, 1.0 / 1.0 and 2.0 / 4.0. The medians would give 1.0 / 1.2.
        #expect(report().ratios.map(\.wall) == [0.75])
    }

    @Test("A round that only one tool finished is not compared")
    func unpaired() {
        var runs = report().runs
        runs.removeAll { $0.tool == .obstore && $0.round == 2 }
        #expect(report(runs: runs).ratios.map(\.wall) == [0.625])
        runs.removeAll { $0.tool == .lfs }
        #expect(report(runs: runs).ratios.isEmpty)
        #expect(ThroughputTable(report(runs: runs)).description.contains("obstore"))
    }

    @Test("The JSON contains every run and the ratios")
    func json() throws {
        let text = try report().json()
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let runs = try #require(object["runs"] as? [[String: Any]])
        #expect(runs.count == 6)
        #expect(runs[0]["tool"] as? String == "lfs")
        #expect(runs[0]["round"] as? Int == 1)
        #expect(runs[0]["wallSeconds"] as? Double == 0.9)
        #expect(runs[0]["cpuSeconds"] as? Double == 0.375)
        #expect(runs[0]["peakBytes"] as? Int == 40 << 20)
        #expect(runs[0]["bytes"] as? Int == 20_480_000)
        let ratios = try #require(object["ratios"] as? [[String: Any]])
        #expect(ratios.count == 1)
        #expect(ratios[0]["tool"] as? String == "obstore")
        #expect(ratios[0]["wall"] as? Double == 0.75)
        #expect(ratios[0]["cpu"] as? Double == 0.5)
        #expect(try JSONDecoder().decode(ThroughputReport.self, from: Data(text.utf8)) == report())
    }

    private func report(
        _ workload: Workload = Workload(files: 2_000, bytesPerFile: 10_240), runs: [Run]? = nil
    ) -> ThroughputReport {
        func run(_ tool: Tool, round: Int, wall: Double, user: Double, system: Double, peak: Int64) -> Run {
            let cost = Cost(wallSeconds: wall, userSeconds: user, systemSeconds: system, peakBytes: peak)
            return Run(tool: tool, round: round, cost: cost, workload: workload)
        }
        return ThroughputReport(
            endpoint: "http://127.0.0.1:8333", connections: 10, rounds: 3, workload: workload,
            leastPeakBytes: 20 << 20,
            tools: [
                InstalledTool(.lfs, executable: "/a/uploader"), InstalledTool(.obstore, executable: "/a/python3"),
                InstalledTool(.curl, executable: "/a/curl"),
            ],
            missing: [MissingTool(.s5cmd, reason: "no s5cmd in PATH")],
            failures: [Failure(tool: .curl, round: 2, reason: "it ended with status 7.")],
            runs: runs ?? [
                run(.lfs, round: 1, wall: 0.9, user: 0.25, system: 0.125, peak: 40 << 20),
                run(.obstore, round: 1, wall: 1.2, user: 0.5, system: 0.25, peak: 32 << 20),
                run(.obstore, round: 2, wall: 1, user: 0.5, system: 0.3, peak: 32 << 20),
                run(.lfs, round: 2, wall: 1, user: 0.3, system: 0.1, peak: 48 << 20),
                run(.lfs, round: 3, wall: 2, user: 0.3, system: 0.3, peak: 44 << 20),
                run(.obstore, round: 3, wall: 4, user: 0.5, system: 0.5, peak: 65 << 19),
            ])
    }
}
