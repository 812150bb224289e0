/// Several ways of the same work, their times in alternating turns, and the figure of the comparison.
package struct Contest: Codable, Equatable, Sendable {
    /// The formula of a figure from the times of one turn, in the order of the ways.
    package enum Figure: String, Codable, Sendable {
        /// The first time divided by the second.
        case ratio
        /// The surplus of the first time over the second, divided by the third.
        case surplus

        func value(of seconds: [Double]) -> Double {
            switch self {
            case .ratio: seconds[0] / seconds[1]
            case .surplus: max(0, seconds[0] - seconds[1]) / seconds[2]
            }
        }
    }

    package struct Variant: Codable, Equatable, Sendable {
        package var name: String
        /// The time of a call: the median of the turns' means.
        package var seconds: Double
    }

    package var name: String
    package var ways: [Variant]
    package var figure: Figure
    /// The median of the turns' figures, or nil without turns.
    package private(set) var value: Double?
    /// The upper bound of the figure, or nil for ways with other guarantees.
    package var bar: Double?

    /// - Parameters:
    ///   - ways: the names of the ways, at least two, and three for a surplus.
    ///   - turns: the mean seconds of a call for each turn, in the order of the ways.
    package init(name: String, ways: [String], turns: [[Double]], figure: Figure = .ratio, bar: Double?) {
        self.name = name
        self.ways = ways.enumerated().map { index, way in
            Variant(name: way, seconds: turns.map { $0[index] }.median ?? 0)
        }
        self.figure = figure
        value = turns.map(figure.value).median
        self.bar = bar
    }
}

/// The measurements of one process for a store inside the app, with the store's size.
package struct ContestSample: Codable, Equatable, Sendable {
    package var contests: [Contest]
    /// Other values as sentences.
    package var notes: [String]

    package init(contests: [Contest], notes: [String] = []) { (self.contests, self.notes) = (contests, notes) }
}

/// The results of `lfs-bench settings` or `lfs-bench cache`. Its JSON is the document of `--json`, to which fields may
/// be added.
package struct ContestReport: Codable, Equatable, Sendable {
    package var title: String
    /// The samples, one per round.
    package var samples: [ContestSample]

    package init(title: String, samples: [ContestSample]) { (self.title, self.samples) = (title, samples) }
}

extension ContestReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let names = samples.first?.contests.map(\.name) ?? []
        let lines = names.flatMap { name in rows(of: samples.flatMap(\.contests).filter { $0.name == name }) }
        let table = TextTable.lines([["", "µs a call", "figure", "bar"]] + lines)
        let notes = samples.last?.notes ?? []
        return ([title, ""] + table + [""] + notes + [legend]).joined(separator: "\n")
    }

    /// Returns the rows of a contest over all rounds: one with its figure, and one below it for each way.
    private func rows(of contests: [Contest]) -> [[String]] {
        guard let first = contests.first else { return [] }
        let value = contests.compactMap(\.value).median.map { Format.decimal($0, places: 2) } ?? "–"
        let head = [first.name, "", value, first.bar.map { Format.decimal($0, places: 2) } ?? "–"]
        return [head]
            + first.ways.indices.map { index in
                let seconds = contests.map { $0.ways[index].seconds }.median ?? 0
                return ["  \(first.ways[index].name)", Format.decimal(seconds * 1_000_000, places: 2), "", ""]
            }
    }

    private var legend: String {
        let hasSurplus = samples.contains { $0.contests.contains { $0.figure == .surplus } }
        return "A figure is the first way in the second."
            + (hasSurplus ? " Of three ways it is what the first takes more than the second, in the third." : "")
    }
}
