/// The place from which a file or an entry was pushed.
struct Origin: Sendable {
    let path: FilePath
    /// The pushed folder, which may be the item itself. Nil for a file or a link that was pushed directly.
    let root: FilePath?

    /// - Parameter title: the path relative to that folder, including the folder's name.
    init(_ path: FilePath, title: String?, isFolder: Bool = false) {
        self.path = path
        let count = title.map { FilePath($0).components.count } ?? 1
        root = count > 1 || isFolder ? Self.folder(path.components.dropLast(count - 1)) : nil
    }

    /// The folders from the item's folder up to the pushed one. For a directly pushed item, its folder.
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
