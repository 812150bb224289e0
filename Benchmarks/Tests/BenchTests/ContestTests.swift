import BenchKit
import Testing

@Suite("Comparisons with other stores", .timeLimit(.minutes(10)))
struct ContestTests {
    @Test("A figure compares times within a turn, as a ratio or as a surplus")
    func figures() {
        let ratio = Contest(name: "get", ways: ["ours", "theirs"], turns: [[1, 2], [9, 3], [2, 2]], bar: 1.5)
        #expect(ratio.value == 1)
        #expect(ratio.ways.map(\.seconds) == [2, 2])
        let surplus = Contest(
            name: "encrypted", ways: ["encrypted", "plain", "bare"], turns: [[5, 3, 1]], figure: .surplus, bar: nil)
        #expect(surplus.value == 2)
        #expect(Contest(name: "none", ways: ["a", "b"], turns: [], bar: nil).value == nil)
    }

    @Test("The table shows medians of the rounds, and a bar where one is set")
    func table() {
        func sample(_ ours: Double) -> ContestSample {
            ContestSample(
                contests: [
                    Contest(name: "get", ways: ["ours", "by hand"], turns: [[ours / 1e6, 2e-6]], bar: 1.5),
                    Contest(name: "beside", ways: ["ours", "other"], turns: [[4e-6, 8e-6]], bar: nil),
                ], notes: ["So many bytes."])
        }
        #expect(
            ContestReport(title: "Settings", samples: [sample(1), sample(3), sample(4)]).description == """
                Settings

                           µs a call  figure   bar
                get                     1.50  1.50
                  ours          3.00              
                  by hand       2.00              
                beside                  0.50     –
                  ours          4.00              
                  other         8.00              

                So many bytes.
                A figure is the first way in the second.
                """)
        let surplus = Contest(name: "set", ways: ["a", "b", "c"], turns: [[3, 1, 1]], figure: .surplus, bar: 1)
        #expect(
            ContestReport(title: "Settings", samples: [ContestSample(contests: [surplus])]).description.hasSuffix(
                "Of three ways it is what the first takes more than the second, in the third."))
    }

    @Test("Each method has the same number of rounds after a warm-up")
    func turns() async throws {
        var calls: [[Int]] = [[], []]
        let contest = try await RoundRobin(count: 3, calls: 2).measure(
            "count", ways: [("a", { calls[0].append($0) }), ("b", { calls[1].append($0) })], bar: nil)
        #expect(calls == [Array(0..<8), Array(0..<8)])
        #expect(contest?.ways.map(\.name) == ["a", "b"])
    }

    @Test("The option --only limits the contests, and an unknown name is an error")
    func only() async throws {
        var calls = 0
        let other = try await RoundRobin(count: 1, calls: 1, only: "get").measure(
            "set", ways: [("a", { _ in calls += 1 }), ("b", { _ in calls += 1 })], bar: nil)
        #expect(other == nil && calls == 0)
        let report = try BenchProcess.report(
            ContestReport.self, arguments: "settings", "--turns", "1", "--rounds",
            "1", "--only", "get")
        #expect(report.samples.first?.contests.map(\.name) == ["get", "get, encrypted"])
        let reason = try BenchProcess.failure(of: "cache", "--turns", "1", "--rounds", "1", "--only", "nothing")
        #expect(reason.contains("has “nothing” in its name"))
    }

    @Test("Settings are measured against a handwritten implementation")
    func settings() throws {
        let report = try BenchProcess.report(
            ContestReport.self, arguments: "settings", "--turns", "1", "--rounds",
            "1")
        let contests = try #require(report.samples.first).contests
        #expect(
            contests.map(\.name) == [
                "get", "set", "set, on the device", "100 in one transaction", "file of 1 KiB", "open with 1,000 keys",
                "get, encrypted", "set, encrypted", "the app's own write, 1,000 observers", "beside UserDefaults",
            ])
        for contest in contests { #expect(contest.ways.allSatisfy { $0.seconds > 0 }, "\(contest.name)") }
        #expect(contests.filter { $0.bar == nil }.map(\.name) == ["beside UserDefaults"])
    }

    @Test("The cache is measured against a dictionary and files")
    func cache() throws {
        let report = try BenchProcess.report(
            ContestReport.self, arguments: "cache", "--turns", "1", "--rounds",
            "1", "--entries", "100")
        let sample = try #require(report.samples.first)
        #expect(sample.contests.count == 5)
        for contest in sample.contests { #expect(contest.value ?? 0 > 0, "\(contest.name)") }
        #expect(sample.notes.first?.hasPrefix("100 entries of 1 KiB with a tag: ") == true)
    }
}
