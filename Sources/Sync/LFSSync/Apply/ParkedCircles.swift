/// A search for parked rows that can only be applied together. All parents that one of them lacks are among the others.
struct ParkedCircles {
    struct Key: Hashable {
        let table: String
        let id: String
    }

    private struct Node {
        let key: Key
        let lacks: [Key]
    }

    /// The parked rows by their row IDs.
    private var nodes: [Int64: Node] = [:]

    /// Adds a parked row.
    ///
    /// - Parameter keys: the rows that it refers to and that do not exist on this device.
    mutating func add(_ rowID: Int64, key: Key, lacking keys: [Key]) {
        nodes[rowID] = Node(key: key, lacks: keys)
    }

    mutating func remove(_ rowID: Int64) { nodes[rowID] = nil }

    /// The row IDs of the largest set whose missing parents are all in the set, in ascending order.
    var closed: [Int64] {
        // Several scopes may supply the same row.
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
