/// Arithmetic for numbers from rows. A result that is too large becomes the largest number and does not trap.
extension FixedWidthInteger {
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, isOverflown) = addingReportingOverflow(other)
        if !isOverflown { return sum }
        return other < 0 ? .min : .max
    }

    /// Creates the nearest representable number.
    package init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Self(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
        }
    }
}
