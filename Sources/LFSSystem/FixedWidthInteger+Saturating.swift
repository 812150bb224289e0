/// Arithmetic on numbers from outside, such as those in rows, files and replies. A result that does not fit is the
/// nearest number that does, and nothing traps.
extension FixedWidthInteger {
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, isOverflown) = addingReportingOverflow(other)
        if !isOverflown { return sum }
        return other < 0 ? .min : .max
    }

    /// Rounds to the nearest number. NaN is 0.
    package init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Self(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
        }
    }
}
