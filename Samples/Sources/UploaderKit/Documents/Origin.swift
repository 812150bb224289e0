/// Where something was pushed from.
struct Origin: Sendable {
    let path: FilePath
    /// The folder that was pushed, which it may be itself; nil for a file or a link that was pushed itself.
    let root: FilePath?

    /// - Parameter title: its path from that folder on, with its name.
    init(_ path: FilePath, title: String?, isFolder: Bool = false) {
        self.path = path
        let count = title.map { FilePath($0).components.count } ?? 1
        root = count > 1 || isFolder ? Self.folder(path.components.dropLast(count - 1)) : nil
    }

    /// The folders from its own up to the one that was pushed; of what was pushed itself, its folder.
    var foldersToRoot: [FilePath] {
        let parts = path.components
        let highest = root?.components.count ?? parts.count - 1
        guard highest < parts.count else { return [] }
        return (highest..<parts.count).reversed().map { Self.folder(parts.prefix($0)) }
    }

    private static func folder(_ parts: some Sequence<[UInt8]>) -> FilePath {
        FilePath(bytes: [0x2F] + Array(parts.joined(separator: [0x2F])))
    }
}
