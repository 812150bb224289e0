/// Which files of a folder are taken, by rules of which the first that matches decides. A file that none matches is
/// taken.
///
/// Paths are those from the folder on that was named. Source: rclone, "Filtering, includes and excludes".
public struct PathFilter: Hashable, Sendable {
    /// A pattern, and whether what matches it is taken.
    public struct Rule: Hashable, Sendable {
        /// What it is about.
        public let pattern: PathPattern
        /// Whether files that match are taken.
        public let isIncluded: Bool

        /// A rule that takes files.
        public static func include(_ pattern: PathPattern) -> Rule { Rule(pattern: pattern, isIncluded: true) }
        /// A rule that leaves files out.
        public static func exclude(_ pattern: PathPattern) -> Rule { Rule(pattern: pattern, isIncluded: false) }
    }

    /// In the order in which they are asked.
    public let rules: [Rule]
    /// The only paths that are taken, from the folder on; nil for all.
    public let listed: Set<AssetName>?
    private let takesRest: Bool
    /// Folders above the listed paths.
    private let listedFolders: Set<AssetName>

    /// A filter.
    ///
    /// - Parameters:
    ///   - rules: in the order in which they are asked.
    ///   - takesRest: whether a file is taken that no rule matches.
    ///   - listed: the only paths that are taken, from the folder on; nil for all. The rules hold for them, too.
    public init(_ rules: [Rule] = [], takesRest: Bool = true, listed: Set<AssetName>? = nil) {
        (self.rules, self.takesRest, self.listed) = (rules, takesRest, listed)
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

    /// What `--include` and `--exclude` mean together: the patterns to include are asked first, and with one of them
    /// nothing else is taken.
    public init(including: [PathPattern], excluding: [PathPattern], listed: Set<AssetName>? = nil) {
        self.init(
            including.map(Rule.include) + excluding.map(Rule.exclude), takesRest: including.isEmpty, listed: listed)
    }

    /// Whether it takes every file.
    public var takesAll: Bool { rules.isEmpty && takesRest && listed == nil }

    /// Whether a file is taken.
    public func takes(_ path: AssetName) -> Bool {
        if let listed, !listed.contains(path) { return false }
        return rules.first { $0.pattern.matches(path) }?.isIncluded ?? takesRest
    }

    /// Whether a folder may have files that are taken. It is right to enter one that has none, and slow.
    func mayTake(in folder: AssetName) -> Bool {
        if listed != nil, !listedFolders.contains(folder) { return false }
        // A rule before it may take what it leaves out.
        guard let first = rules.first, !first.isIncluded else { return true }
        let leavesOut = rules.prefix { !$0.isIncluded }
        return !leavesOut.contains { $0.pattern.leavesOutAll(of: folder) }
    }
}

extension PathPattern {
    /// Whether it is sure that all files in a folder match, at any depth.
    fileprivate func leavesOutAll(of folder: AssetName) -> Bool {
        guard description.hasSuffix("/") || description.hasSuffix("/**") else { return false }
        // What ends with anything matches all that goes on behind a match.
        return matches(folder.appending([]))
    }
}
