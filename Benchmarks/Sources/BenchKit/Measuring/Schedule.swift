/// The order of the tools in each round. It is rotated by one, so that each tool is first and last equally often.
package enum Schedule {
    package static func order<Element>(of tools: [Element], round: Int) -> [Element] {
        guard !tools.isEmpty else { return [] }
        let first = round % tools.count
        return Array(tools[first...] + tools[..<first])
    }
}
