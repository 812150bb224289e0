/// Finds rows that can be applied together and not one by one: what each of them lacks is among the others.
struct ParkedCircles {
    struct Key: Hashable {
        let table: String
        let id: String
    }

    private struct Node {
        let key: Key
        let lacks: [Key]
    }

    /// By the numbers of their rows.
    private var nodes: [Int64: Node] = [:]

    /// - Parameter keys: the rows that it refers to and that are not here.
    mutating func add(_ rowID: Int64, _ key: Key, lacking keys: [Key]) {
        nodes[rowID] = Node(key: key, lacks: keys)
    }

    mutating func remove(_ rowID: Int64) { nodes[rowID] = nil }

    /// As many as there are, in their order.
    var closed: [Int64] {
        // A row may be here for several scopes.
        var sources: [Key: Int] = [:]
        var children: [Key: [Int64]] = [:]
        for (rowID, node) in nodes {
            sources[node.key, default: 0] += 1
            for key in node.lacks { children[key, default: []].append(rowID) }
        }
        var left = nodes
        var lost = nodes.filter { $0.value.lacks.contains { sources[$0] == nil } }.map(\.key)
        while let rowID = lost.popLast() {
            guard let node = left.removeValue(forKey: rowID), let count = sources[node.key] else { continue }
            sources[node.key] = count > 1 ? count - 1 : nil
            if count == 1 { lost += children[node.key] ?? [] }
        }
        return left.keys.sorted()
    }
}
