extension Collection where Element: BinaryFloatingPoint {
    /// The value in the middle; of an even number of values the mean of the two in the middle; nil of none.
    package var median: Element? {
        guard !isEmpty else { return nil }
        let values = sorted()
        let middle = values.count / 2
        return values.count.isMultiple(of: 2) ? (values[middle - 1] + values[middle]) / 2 : values[middle]
    }
}
