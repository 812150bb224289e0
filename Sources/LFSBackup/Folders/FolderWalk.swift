import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Goes through files and folders one name at a time, depth first. Symbolic links are not followed, but for those that
/// are named themselves.
public struct FolderWalk: IteratorProtocol, Sendable {
    private struct Folder {
        let path: AssetName
        let title: AssetName
        /// The path from the named folder on; nil for that folder itself.
        let relative: AssetName?
        /// The named folder that it is, or is in, and the length of that one's path.
        let root: FileIdentity
        let rootLength: Int
        /// The groups that its content is in.
        let groups: Set<BackupGroup.ID>
        /// Whether all in it is wanted, and not some names only.
        let isWhole: Bool
        var names: [[UInt8]]
        /// What is to be told of it; nil once it is.
        var entry: BackupEntry?
    }

    private var roots: [AssetName]
    private var folders: [Folder] = []
    /// What is to be told next, the last one first.
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
    ///   - groups: the groups that a file or folder is.
    ///   - own: files and folders to leave out, those that the app writes to itself.
    ///   - hasEntries: whether folders and links are items.
    ///   - tree: the only names that are looked at; nil for all. One that is not there is no item then.
    ///   - watch: watches the folders that are entered.
    init(
        _ roots: [AssetName], _ selection: BackupSelection, groups: [FileIdentity: Set<BackupGroup.ID>],
        own: Set<FileIdentity>, where filter: PathFilter, hasEntries: Bool = false, only tree: PathTree? = nil,
        watch: FolderWatch? = nil
    ) {
        self.roots = roots.filter { tree?.leads($0) ?? true }.reversed()
        (self.hasEntries, self.tree, self.watch) = (hasEntries, tree, watch)
        (self.selection, self.groups, self.own, self.filter) = (selection, groups, own, filter)
    }

    /// The next name; nil when there is none left.
    public mutating func next() -> AssetItem? {
        while true {
            if let item = found.popLast() { return item }
            if !folders.isEmpty, let name = folders[folders.count - 1].names.popLast() {
                let folder = folders[folders.count - 1]
                let (path, title) = (folder.path.appending(name), folder.title.appending(name))
                let relative = folder.relative.map { $0.appending(name) } ?? AssetName(bytes: name)
                if let item = visit(path, title, folder.groups, relative, isWhole: folder.isWhole) { tell(item) }
            } else if folders.popLast() == nil {
                guard let root = roots.popLast() else { return nil }
                if let item = visit(root, root.lastComponent, groups(above: root), isWhole: tree == nil) { tell(item) }
            }
        }
    }

    /// Looks at one name. A folder is entered, which is no item.
    ///
    /// - Parameters:
    ///   - relative: the path from the named folder on; nil for what is named itself.
    ///   - isWhole: whether all in the folder above it is wanted.
    private mutating func visit(
        _ path: AssetName, _ title: AssetName, _ above: Set<BackupGroup.ID>, _ relative: AssetName? = nil, isWhole: Bool
    ) -> AssetItem? {
        var status = stat()
        guard path.withCString({ relative == nil ? stat($0, &status) : lstat($0, &status) }) == 0 else {
            if tree != nil, errno == ENOENT || errno == ENOTDIR { return nil }
            // What nobody wants may be unreadable.
            return relative.map(filter.takes) == false ? nil : .unreadable(path, Self.reason())
        }
        if let relative, !wants(relative, status) { return nil }
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
            var asset = Asset(id: path, title: title, stamp: AssetStamp(status), groups: groups)
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
            // With a filter a folder counts for what is taken in it.
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

    /// Puts an item to those that are told next, behind the folders that it is in.
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

    private func wants(_ relative: AssetName, _ status: stat) -> Bool {
        if filter.takesAll { return true }
        return status.st_mode & S_IFMT == S_IFDIR ? filter.mayTake(in: relative) : filter.takes(relative)
    }

    /// The groups of the folders that a root is in, wherever it is named from.
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

    /// The names in a folder, nil with `errno` set when it cannot be read.
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

    /// The text of a link, nil with `errno` set when it cannot be read.
    private static func target(of path: AssetName) -> AssetName? {
        // One byte more than any link can have.
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
