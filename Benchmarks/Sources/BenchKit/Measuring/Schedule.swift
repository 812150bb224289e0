/// The order of the tools in each round: rotated by one, so that each begins and ends a round equally often.
package enum Schedule {
    package static func order<Element>(of tools: [Element], round: Int) -> [Element] {
        guard !tools.isEmpty else { return [] }
        let first = round % tools.count
        return Array(tools[first...] + tools[..<first])
    }
}
