/// A filter for the files of a folder. The first matching rule decides. By default, a file without a matching rule is
/// included.
///
/// Paths are relative to the selected folder. Source: rclone, "Filtering, includes and excludes".
public struct PathFilter: Hashable, Sendable {
    /// A pattern that includes or excludes files.
    struct Rule: Hashable, Sendable {
        let pattern: PathPattern
        let isIncluded: Bool
    }

    /// The rules in the order of their evaluation.
    let rules: [Rule]
    /// The only paths that are included, relative to the folder. Nil for all.
    public let listed: Set<AssetName>?
    private let takesRest: Bool
    /// The folders above the listed paths.
    private let listedFolders: Set<AssetName>

    /// Creates a filter, which includes every file if no parameter is given.
    ///
    /// - Parameters:
    ///   - including: the patterns of files to include, which are evaluated first. If there is one, all files that no
    ///     pattern matches are excluded.
    ///   - excluding: the patterns of files to exclude.
    ///   - listed: the only paths that are included, relative to the folder. Nil for all. The patterns apply to them,
    ///     too.
    public init(including: [PathPattern] = [], excluding: [PathPattern] = [], listed: Set<AssetName>? = nil) {
        rules =
            including.map { Rule(pattern: $0, isIncluded: true) }
            + excluding.map { Rule(pattern: $0, isIncluded: false) }
        takesRest = including.isEmpty
        self.listed = listed
        var folders: Set<AssetName> = []
        for path in listed ?? [] {
            var parts = path.components
            while parts.popLast() != nil, !parts.isEmpty {
                guard folders.insert(AssetName(bytes: Array(parts.joined(separator: [AssetName.slash])))).inserted
                else {
                    break
                }
            }
        }
        listedFolders = folders
    }

    /// True if the filter includes every file.
    public var takesAll: Bool { rules.isEmpty && takesRest && listed == nil }

    /// Returns true if a file is included.
    public func takes(_ path: AssetName) -> Bool {
        if let listed, !listed.contains(path) { return false }
        return rules.first { $0.pattern.matches(path) }?.isIncluded ?? takesRest
    }

    /// Returns true if a folder may contain included files. A wrong true is harmless but slow.
    func mayTake(in folder: AssetName) -> Bool {
        if listed != nil, !listedFolders.contains(folder) { return false }
        // A preceding rule may include files that a later rule excludes.
        guard let first = rules.first, !first.isIncluded else { return true }
        let leavesOut = rules.prefix { !$0.isIncluded }
        return !leavesOut.contains { $0.pattern.leavesOutAll(of: folder) }
    }
}

extension PathPattern {
    /// Returns true if all files in a folder are certain to match, at any depth.
    fileprivate func leavesOutAll(of folder: AssetName) -> Bool {
        guard description.hasSuffix("/") || description.hasSuffix("/**") else { return false }
        // A pattern that ends with `**` also matches every continuation of a match.
        return matches(folder.appending([]))
    }
}
