/// Runs the body for each element, with at most `limit` at once, and starts them in order. When one throws, the
/// function starts no further one, cancels those that run and waits for them.
///
/// - Parameter limit: at least 1. Smaller numbers become 1.
/// - Returns: the results of the bodies, in the order in which they ended.
package func runEach<Element: Sendable, Value: Sendable, Failure: Error>(
    _ elements: some Sequence<Element>, atMost limit: Int,
    _ body: @escaping @Sendable (Element) async throws(Failure) -> Value
) async throws(Failure) -> [Value] {
    let result = await withTaskGroup(of: Result<Value, Failure>.self) { group -> Result<[Value], Failure> in
        var waiting = elements.makeIterator()
        func beginNext() {
            guard let element = waiting.next() else { return }
            group.addTask { await .catching { () throws(Failure) in try await body(element) } }
        }
        for _ in 0..<max(limit, 1) { beginNext() }
        var values: [Value] = []
        while let result = await group.next() {
            switch result {
            case .success(let value): values.append(value)
            case .failure(let error):
                group.cancelAll()
                await group.waitForAll()
                return .failure(error)
            }
            beginNext()
        }
        return .success(values)
    }
    return try result.get()
}
