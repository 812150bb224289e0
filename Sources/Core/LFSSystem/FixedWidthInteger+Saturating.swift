/// Arithmetic on untrusted numbers, such as those in rows, files and replies. A result that does not fit becomes the
/// nearest number that does. Nothing traps.
extension FixedWidthInteger {
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, isOverflown) = addingReportingOverflow(other)
        if !isOverflown { return sum }
        return other < 0 ? .min : .max
    }

    /// Rounds to the nearest number. NaN becomes 0.
    package init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Self(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
        }
    }
}
