/// Ways of the same work, measured in turns, and what their times say.
package struct Contest: Codable, Equatable, Sendable {
    /// What a figure is made of: the times of one turn, in the order of the ways.
    package enum Figure: String, Codable, Sendable {
        /// The first way in the second.
        case ratio
        /// What the first takes more than the second, in the third.
        case surplus

        func value(of seconds: [Double]) -> Double {
            switch self {
            case .ratio: seconds[0] / seconds[1]
            case .surplus: max(0, seconds[0] - seconds[1]) / seconds[2]
            }
        }
    }

    package struct Way: Codable, Equatable, Sendable {
        package var name: String
        /// Of a call: the median of the turns' means.
        package var seconds: Double
    }

    package var name: String
    package var ways: [Way]
    package var figure: Figure
    /// The median of the turns' figures; nil where nothing is compared.
    package private(set) var value: Double?
    /// What the figure has to stay below; nil for ways that promise something else.
    package var bar: Double?

    /// - Parameters:
    ///   - ways: their names; two at least, and three for a surplus.
    ///   - turns: for each turn the seconds that a call has taken in the mean, in the order of the ways.
    package init(name: String, ways: [String], turns: [[Double]], figure: Figure = .ratio, bar: Double?) {
        self.name = name
        self.ways = ways.enumerated().map { index, way in
            Way(name: way, seconds: turns.map { $0[index] }.median ?? 0)
        }
        self.figure = figure
        value = turns.map(figure.value).median
        self.bar = bar
    }
}

/// What one process has measured of a store in the app's own process, and what it weighs.
package struct ContestSample: Codable, Equatable, Sendable {
    package var contests: [Contest]
    /// Other figures, as sentences need them: a name with its value.
    package var notes: [String]

    package init(contests: [Contest], notes: [String] = []) { (self.contests, self.notes) = (contests, notes) }
}

/// Everything that `lfs-bench settings` or `lfs-bench cache` measured. Its JSON is the document of `--json`: fields may
/// be added.
package struct ContestReport: Codable, Equatable, Sendable {
    package var title: String
    /// One for each round.
    package var samples: [ContestSample]

    package init(title: String, samples: [ContestSample]) { (self.title, self.samples) = (title, samples) }
}

extension ContestReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let names = samples.first?.contests.map(\.name) ?? []
        let lines = names.flatMap { name in rows(of: samples.flatMap(\.contests).filter { $0.name == name }) }
        let table = TextTable.lines([["", "µs a call", "figure", "bar"]] + lines)
        let notes = samples.last?.notes ?? []
        return ([title, ""] + table + [""] + notes + [legend]).joined(separator: "\n")
    }

    /// A contest of all rounds: a line with its figure, and one for each way below.
    private func rows(of contests: [Contest]) -> [[String]] {
        guard let first = contests.first else { return [] }
        let value = contests.compactMap(\.value).median.map { Format.decimal($0, 2) } ?? "–"
        let head = [first.name, "", value, first.bar.map { Format.decimal($0, 2) } ?? "–"]
        return [head]
            + first.ways.indices.map { index in
                let seconds = contests.map { $0.ways[index].seconds }.median ?? 0
                return ["  \(first.ways[index].name)", Format.decimal(seconds * 1_000_000, 2), "", ""]
            }
    }

    private var legend: String {
        let hasSurplus = samples.contains { $0.contests.contains { $0.figure == .surplus } }
        return "A figure is the first way in the second."
            + (hasSurplus ? " Of three ways it is what the first takes more than the second, in the third." : "")
    }
}
