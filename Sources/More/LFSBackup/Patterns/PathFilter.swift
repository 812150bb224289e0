/// A filter for the files of a folder. The first matching rule decides. By default, a file without a matching rule is
/// included.
///
/// Paths are relative to the selected folder. Source: rclone, "Filtering, includes and excludes".
public struct PathFilter: Hashable, Sendable {
    /// A pattern that includes or excludes files.
    public struct Rule: Hashable, Sendable {
        /// The pattern that the rule applies to.
        public let pattern: PathPattern
        /// True if matching files are included.
        public let isIncluded: Bool

        /// Returns a rule that includes files.
        public static func include(_ pattern: PathPattern) -> Rule { Rule(pattern: pattern, isIncluded: true) }
        /// Returns a rule that excludes files.
        public static func exclude(_ pattern: PathPattern) -> Rule { Rule(pattern: pattern, isIncluded: false) }
    }

    /// The rules in the order of their evaluation.
    public let rules: [Rule]
    /// The only paths that are included, relative to the folder. Nil for all.
    public let listed: Set<AssetName>?
    private let takesRest: Bool
    /// The folders above the listed paths.
    private let listedFolders: Set<AssetName>

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - rules: the rules in the order of their evaluation.
    ///   - takesRest: true if files without a matching rule are included.
    ///   - listed: the only paths that are included, relative to the folder. Nil for all. The rules apply to them, too.
    public init(_ rules: [Rule] = [], takesRest: Bool = true, listed: Set<AssetName>? = nil) {
        self.rules = rules
        self.takesRest = takesRest
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

    /// Creates the filter for the options `--include` and `--exclude`. Patterns to include are evaluated first. If
    /// there is one, all other files are excluded.
    public init(including: [PathPattern], excluding: [PathPattern], listed: Set<AssetName>? = nil) {
        self.init(
            including.map(Rule.include) + excluding.map(Rule.exclude), takesRest: including.isEmpty, listed: listed)
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
