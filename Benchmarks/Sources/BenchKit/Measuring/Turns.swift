/// Measures ways of the same work one after the other, again and again, so that what slows the machine slows all.
package struct Turns {
    /// How often each way has its turn.
    package var count: Int
    /// How many calls are a turn.
    package var calls: Int

    /// What has to be in the name of a contest that is measured.
    package var only: String

    package init(count: Int, calls: Int, only: String = "") {
        (self.count, self.calls, self.only) = (count, calls, only)
    }

    /// One way: a name, and a call, which gets a number that it has not had before.
    package typealias Way = (name: String, call: (Int) async throws -> Void)

    /// - Parameters:
    ///   - name: of the contest.
    ///   - ways: which are compared; each has a turn that is not measured first.
    ///   - figure: what is made of their times.
    ///   - bar: what the figure has to stay below.
    /// - Returns: nil for a contest that is not asked for.
    package func measure(
        _ name: String, _ ways: [Way], figure: Contest.Figure = .ratio, bar: Double?
    ) async throws -> Contest? {
        guard only.isEmpty || name.contains(only) else { return nil }
        var turns: [[Double]] = []
        for turn in 0...count {
            var seconds = [Double](repeating: 0, count: ways.count)
            for step in ways.indices {
                // Nobody is always the one who comes first.
                let index = (step + turn) % ways.count
                let start = ContinuousClock.now
                for call in 0..<calls { try await ways[index].call(turn * calls + call) }
                seconds[index] = (ContinuousClock.now - start) / .seconds(1) / Double(calls)
            }
            if turn > 0 { turns.append(seconds) }
        }
        return Contest(name: name, ways: ways.map(\.name), turns: turns, figure: figure, bar: bar)
    }
}
