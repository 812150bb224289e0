extension Collection where Element: BinaryFloatingPoint {
    /// The middle value, the mean of the two middle values for an even number, or nil for an empty collection.
    package var median: Element? {
        guard !isEmpty else { return nil }
        let values = sorted()
        let middle = values.count / 2
        return values.count.isMultiple(of: 2) ? (values[middle - 1] + values[middle]) / 2 : values[middle]
    }
}

extension Collection where Element: Comparable {
    /// Returns the smallest value that at least the given percentage of values does not exceed (nearest rank). The
    /// result is always one of the values.
    ///
    /// - Parameter percent: from 1 to 100.
    /// - Returns: nil for an empty collection.
    package func percentile(_ percent: Int) -> Element? {
        guard !isEmpty else { return nil }
        // Rounds up with integers: 99 % of 1,000 is 990, regardless of the Double nearest to 0.99.
        let rank = (percent * count + 99) / 100
        return sorted()[Swift.max(rank, 1) - 1]
    }
}
