/// Sums of figures that come from rows: what is too large counts as the largest number, and ends nothing.
extension FixedWidthInteger {
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, isOverflown) = addingReportingOverflow(other)
        if !isOverflown { return sum }
        return other < 0 ? .min : .max
    }

    /// The nearest number there is.
    package init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Self(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
        }
    }
}
