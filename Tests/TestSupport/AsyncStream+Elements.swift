extension AsyncStream where Element: Sendable {
    /// Creates a stream of these elements.
    package init(_ elements: [Element]) {
        self.init { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
    }
}
