extension Collection where Element: BinaryFloatingPoint {
    /// The value in the middle; of an even number of values the mean of the two in the middle; nil of none.
    package var median: Element? {
        guard !isEmpty else { return nil }
        let values = sorted()
        let middle = values.count / 2
        return values.count.isMultiple(of: 2) ? (values[middle - 1] + values[middle]) / 2 : values[middle]
    }
}

extension Collection where Element: Comparable {
    /// The least value that so many percent of all are not above, by the nearest rank: always one of the values.
    ///
    /// - Parameter percent: from 1 to 100.
    /// - Returns: nil of none.
    package func percentile(_ percent: Int) -> Element? {
        guard !isEmpty else { return nil }
        // Rounded up, in integers: 99 % of 1,000 are 990, whatever a Double makes of 0.99.
        let rank = (percent * count + 99) / 100
        return sorted()[Swift.max(rank, 1) - 1]
    }
}
