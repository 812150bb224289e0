/// A set of paths, and the names that lead to them.
struct PathTree: Hashable, Sendable {
    private var ends: Set<AssetName> = []
    /// The names in each folder above the paths.
    private var names: [AssetName: Set<[UInt8]>] = [:]

    /// - Parameter paths: absolute paths.
    init(_ paths: some Sequence<AssetName>) {
        for path in paths where ends.insert(path).inserted {
            var parts = path.components
            while let name = parts.popLast() {
                let folder = AssetName(bytes: [AssetName.slash] + Array(parts.joined(separator: [AssetName.slash])))
                // An earlier path with this name has added all folders above it.
                if !names[folder, default: []].insert(name).inserted { break }
            }
        }
    }

    /// Returns true if it is one of the paths. Everything below such a path is selected.
    func ends(at path: AssetName) -> Bool { ends.contains(path) }
    /// Returns true if it is one of the paths, or above one.
    func leads(_ path: AssetName) -> Bool { ends.contains(path) || names[path] != nil }
    /// Returns the names in a folder that lead to one of the paths.
    func names(in folder: AssetName) -> [[UInt8]] { Array(names[folder] ?? []) }
}
