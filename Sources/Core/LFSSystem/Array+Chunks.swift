extension Array {
    /// Returns the elements in order, in chunks of `count`, which must be at least 1. The last chunk may be shorter.
    package func chunks(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
