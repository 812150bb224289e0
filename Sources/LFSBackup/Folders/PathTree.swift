/// Some paths, and the names that lead to them.
struct PathTree: Hashable, Sendable {
    private var ends: Set<AssetName> = []
    /// Of the folders above the paths.
    private var names: [AssetName: Set<[UInt8]>] = [:]

    /// - Parameter paths: absolute ones.
    init(_ paths: some Sequence<AssetName>) {
        for path in paths where ends.insert(path).inserted {
            var parts = path.components
            while let name = parts.popLast() {
                let folder = AssetName(bytes: [AssetName.slash] + Array(parts.joined(separator: [AssetName.slash])))
                // Whoever has come here before has gone all the way up.
                if !names[folder, default: []].insert(name).inserted { break }
            }
        }
    }

    /// Whether it is one of the paths: all below it is wanted.
    func ends(at path: AssetName) -> Bool { ends.contains(path) }
    /// Whether it is one of the paths, or above one.
    func leads(_ path: AssetName) -> Bool { ends.contains(path) || names[path] != nil }
    /// The names in a folder that lead to one of the paths.
    func names(in folder: AssetName) -> [[UInt8]] { Array(names[folder] ?? []) }
}
