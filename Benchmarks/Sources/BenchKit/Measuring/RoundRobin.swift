/// A measurement of several ways of the same work in alternating turns, so that a slow moment of the machine affects
/// all of them.
package struct RoundRobin {
    /// The number of turns of each way.
    package var count: Int
    /// The number of calls per turn.
    package var calls: Int

    /// A text that the name of a measured contest must contain.
    package var only: String

    package init(count: Int, calls: Int, only: String = "") {
        self.count = count
        self.calls = calls
        self.only = only
    }

    /// A way of the work: a name, and a closure that performs a call. Each call gets a new number.
    package typealias Variant = (name: String, call: (Int) async throws -> Void)

    /// Measures a contest.
    ///
    /// - Parameters:
    ///   - name: the name of the contest.
    ///   - ways: the ways to compare. Each of them first has a turn that is not measured.
    ///   - figure: the value that is computed from their times.
    ///   - bar: the upper bound of the figure.
    /// - Returns: nil for a contest that was not requested.
    package func measure(
        _ name: String, ways: [Variant], figure: Contest.Figure = .ratio, bar: Double?
    ) async throws -> Contest? {
        guard only.isEmpty || name.contains(only) else { return nil }
        var turns: [[Double]] = []
        for turn in 0...count {
            var seconds = [Double](repeating: 0, count: ways.count)
            for step in ways.indices {
                // Each way is first equally often.
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
