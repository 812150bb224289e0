import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A depth-first walk through files and folders, one name at a time. It follows symbolic links only if they were
/// selected themselves.
public struct FolderWalk: IteratorProtocol, Sendable {
    private struct Folder {
        let path: AssetName
        let title: AssetName
        /// The path relative to the selected folder. Nil for that folder itself.
        let relative: AssetName?
        /// The selected folder that this folder is or belongs to, and the length of its path.
        let root: FileIdentity
        let rootLength: Int
        /// The groups that contain its content.
        let groups: Set<BackupGroup.ID>
        /// True if everything in it is selected, false if only some names are.
        let isWhole: Bool
        var names: [[UInt8]]
        /// The entry to report. Nil once it is reported.
        var entry: BackupEntry?
    }

    private var roots: [AssetName]
    private var folders: [Folder] = []
    /// The items to report next, in reverse order.
    private var found: [AssetItem] = []
    private let selection: BackupSelection
    private let groups: [FileIdentity: Set<BackupGroup.ID>]
    private let own: Set<FileIdentity>
    private let filter: PathFilter
    private let hasEntries: Bool
    private let tree: PathTree?
    private let watch: FolderWatch?

    /// - Parameters:
    ///   - roots: absolute paths of files and folders.
    ///   - groups: the groups by the identity of their file or folder.
    ///   - own: files and folders to skip because the app itself writes to them.
    ///   - hasEntries: true if folders and links are items.
    ///   - tree: the only paths to examine. Nil for all. A missing path is then not an item.
    ///   - watch: watches the folders that the walk enters.
    init(
        _ roots: [AssetName], selection: BackupSelection, groups: [FileIdentity: Set<BackupGroup.ID>],
        own: Set<FileIdentity>, where filter: PathFilter, hasEntries: Bool = false, only tree: PathTree? = nil,
        watch: FolderWatch? = nil
    ) {
        self.roots = roots.filter { tree?.leads($0) ?? true }.reversed()
        self.hasEntries = hasEntries
        self.tree = tree
        self.watch = watch
        self.selection = selection
        self.groups = groups
        self.own = own
        self.filter = filter
    }

    /// Returns the next item, or nil after the last one.
    public mutating func next() -> AssetItem? {
        while true {
            if let item = found.popLast() { return item }
            if !folders.isEmpty, let name = folders[folders.count - 1].names.popLast() {
                let folder = folders[folders.count - 1]
                let (path, title) = (folder.path.appending(name), folder.title.appending(name))
                let relative = folder.relative.map { $0.appending(name) } ?? AssetName(bytes: name)
                if let item = visit(
                    path, title: title, above: folder.groups, relative: relative, isWhole: folder.isWhole)
                {
                    tell(item)
                }
            } else if folders.popLast() == nil {
                guard let root = roots.popLast() else { return nil }
                if let item = visit(root, title: root.lastComponent, above: groups(above: root), isWhole: tree == nil) {
                    tell(item)
                }
            }
        }
    }

    /// Examines one name. A folder is entered and returns no item.
    ///
    /// - Parameters:
    ///   - relative: the path relative to the selected folder. Nil for a selected file or folder.
    ///   - isWhole: true if everything in the parent folder is selected.
    private mutating func visit(
        _ path: AssetName, title: AssetName, above: Set<BackupGroup.ID>, relative: AssetName? = nil, isWhole: Bool
    ) -> AssetItem? {
        var status = stat()
        guard path.withCString({ relative == nil ? stat($0, &status) : lstat($0, &status) }) == 0 else {
            if tree != nil, errno == ENOENT || errno == ENOTDIR { return nil }
            // Excluded files may be unreadable.
            return relative.map(filter.takes) == false ? nil : .unreadable(path, Self.reason())
        }
        if let relative, !wants(relative, status: status) { return nil }
        let identity = FileIdentity(status)
        let root = relative == nil ? nil : folders.last
        let sighting = FileSighting(
            file: identity, root: root?.root ?? identity, rootLength: root?.rootLength ?? path.bytes.count,
            isSparse: SparseFile.isSparse(status))
        if own.contains(identity) { return .passedOver(path, "it belongs to the backup itself") }
        let groups = above.union(groups[identity] ?? [])
        guard groups.isDisjoint(with: selection.excluded) else { return .passedOver(path, "it is excluded") }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            if relative == nil { watch?.enter(file: path) }
            var asset = Asset(id: path, title: title, stamp: AssetVersion(status), groups: groups)
            asset.sighting = sighting
            return .asset(asset)
        case S_IFDIR:
            watch?.enter(path, isRoot: relative == nil)
            let isWhole = isWhole || tree?.ends(at: path) == true
            guard let names = isWhole ? Self.names(in: path) : tree?.names(in: path) else {
                return .unreadable(path, Self.reason())
            }
            let entry = BackupEntry(id: path, title: title, kind: .folder, attributes: FileAttributes(status))
            folders.append(
                Folder(
                    path: path, title: title, relative: relative, root: sighting.root, rootLength: sighting.rootLength,
                    groups: groups, isWhole: isWhole, names: names,
                    entry: hasEntries ? entry : nil))
            // With a filter, a folder is reported only once something in it is included.
            if filter.takesAll { tellFolders() }
            return nil
        case S_IFLNK where hasEntries:
            guard let target = Self.target(of: path) else { return .unreadable(path, Self.reason()) }
            var attributes = FileAttributes(status)
            attributes.permissions = nil
            return .entry(BackupEntry(id: path, title: title, kind: .link(target: target), attributes: attributes))
        case S_IFLNK: return .passedOver(path, "symbolic links are not followed")
        default: return .passedOver(path, "not a regular file")
        }
    }

    /// Queues an item, after the folders that contain it.
    private mutating func tell(_ item: AssetItem) {
        found.insert(item, at: 0)
        switch item {
        case .asset, .entry: tellFolders()
        case .unreadable, .passedOver: break
        }
    }

    private mutating func tellFolders() {
        for index in folders.indices.reversed() {
            guard let entry = folders[index].entry else { return }
            found.append(.entry(entry))
            folders[index].entry = nil
        }
    }

    private func wants(_ relative: AssetName, status: stat) -> Bool {
        if filter.takesAll { return true }
        return status.st_mode & S_IFMT == S_IFDIR ? filter.mayTake(in: relative) : filter.takes(relative)
    }

    /// Returns the groups of the folders that contain a root, whatever path selected it.
    private func groups(above root: AssetName) -> Set<BackupGroup.ID> {
        guard let real = root.withCString({ realpath($0, nil) }) else { return [] }
        defer { free(real) }
        var parts = AssetName(bytes: Array(UnsafeRawBufferPointer(start: real, count: strlen(real)))).components
        var found: Set<BackupGroup.ID> = []
        while parts.popLast() != nil {
            let path = AssetName(bytes: [AssetName.slash] + Array(parts.joined(separator: [AssetName.slash])))
            if let identity = FileIdentity(at: path) { found.formUnion(groups[identity] ?? []) }
        }
        return found
    }

    /// Returns the names in a folder, or nil with `errno` set if it cannot be read.
    static func names(in path: AssetName) -> [[UInt8]]? {
        let number: Int32
        do throws(SystemError) {
            number = try OpenCall.run("\(path)") {
                path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            }
        } catch {
            errno = error.errno
            return nil
        }
        guard let stream = fdopendir(number) else {
            let code = errno
            close(number)
            errno = code
            return nil
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { return errno == 0 ? names : nil }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
    }

    /// Returns the text of a link, or nil with `errno` set if it cannot be read.
    private static func target(of path: AssetName) -> AssetName? {
        // One byte more than the longest possible link.
        var bytes = [CChar](repeating: 0, count: 4_097)
        let count = path.withCString { readlink($0, &bytes, bytes.count) }
        guard count >= 0 else { return nil }
        guard count < bytes.count else {
            errno = ENAMETOOLONG
            return nil
        }
        return AssetName(bytes: bytes.prefix(count).map { UInt8(bitPattern: $0) })
    }

    static func reason() -> String { String(cString: strerror(errno)) }
}
