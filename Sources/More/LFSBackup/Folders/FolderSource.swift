import Foundation
import LFS
import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A source of files in folders, identified by their paths. The ids of the groups are paths.
///
/// A file is in every group whose folder contains it, at any depth. Folders are identified by device and inode instead
/// of their paths, so a link to an excluded folder or another mount of it is excluded as well.
public struct FolderSource: AssetSource {
    /// The absolute paths of the included files and folders.
    public let roots: [AssetName]
    private let selection: BackupSelection
    private let groups: [(group: BackupGroup, path: AssetName)]
    private let own: [String]
    /// The filter for files in the included folders.
    public let filter: PathFilter
    let hasEntries: Bool
    private let allowsChanging: Bool
    private var tree: PathTree?
    private var watch: FolderWatch?

    /// Creates a source from groups.
    ///
    /// - Parameters:
    ///   - groups: the groups, whose ids are paths of folders and files.
    ///   - paths: the exact paths of groups whose paths are not valid text.
    ///   - folder: the base of relative paths. Nil for the current folder.
    ///   - own: files and folders to skip because the app itself writes to them.
    ///   - filter: the filter for files in the included folders, by their relative paths. A file that is itself a group
    ///     is always included. Files that the filter excludes are not items of the walk.
    ///   - hasEntries: if true, folders and symbolic links are items, too: ``AssetItem/entry(_:)``. A folder precedes
    ///     its content. With a filter, a folder is an item only if something in it is included. If false, links are
    ///     skipped.
    ///   - allowsChanging: if true, a file may be written to while it is read. The source reads as many bytes as the
    ///     file had when it was opened. If others change these bytes during the read, the result mixes old and new
    ///     bytes.
    public init(
        _ groups: [BackupGroup], at paths: [BackupGroup.ID: AssetName] = [:], from folder: String? = nil,
        excluding own: [String] = [],
        where filter: PathFilter = PathFilter(), hasEntries: Bool = false, allowsChanging: Bool = false
    ) {
        let folder = folder ?? FileManager.default.currentDirectoryPath
        self.groups = groups.map { ($0, (paths[$0.id] ?? AssetName($0.id)).absolute(from: folder)) }
        self.own = own
        self.filter = filter
        self.hasEntries = hasEntries
        self.allowsChanging = allowsChanging
        roots = self.groups.filter { $0.group.mode == .include }.map(\.path)
        selection = BackupSelection(groups)
    }

    /// Starts a walk.
    ///
    /// - Throws: ``BackupError/Code/groupAbsent`` when an excluded folder does not exist. Otherwise a mistyped path
    ///   would upload everything that it should exclude.
    public func makeWalk() throws -> FolderWalk {
        var identities: [FileIdentity: Set<BackupGroup.ID>] = [:]
        for (group, path) in groups {
            if let identity = FileIdentity(at: path) {
                identities[identity, default: []].insert(group.id)
            } else if group.mode == .exclude {
                throw BackupError(
                    .groupAbsent,
                    message: """
                        There is nothing at \(path), which is excluded: \(FolderWalk.reason()). Correct the path, or \
                        do not exclude it.
                        """,
                    asset: path)
            }
        }
        let ownIdentities = own.compactMap { FileIdentity(at: AssetName($0)) }
        return FolderWalk(
            roots, selection: selection, groups: identities, own: Set(ownIdentities), where: filter,
            hasEntries: hasEntries,
            only: tree, watch: watch)
    }

    /// Returns a source that examines only the given paths. Paths that are outside the folders, excluded by the filter,
    /// or missing are not items of a walk.
    ///
    /// The cost depends on the number and the depth of these paths, not on the other content of the folders.
    package func only(_ names: some Sequence<AssetName>) -> FolderSource {
        var source = self
        source.tree = PathTree(names)
        return source
    }

    /// Returns a source whose walks watch the folders that they enter.
    func watched(by watch: FolderWatch) -> FolderSource {
        var source = self
        source.watch = watch
        return source
    }

    /// Returns true if a file at this path may be an item of a walk, judged by the path alone.
    func mayTake(_ path: AssetName) -> Bool {
        roots.contains { root in
            if path == root { return true }
            let beginning = root.appending([]).bytes
            return path.bytes.starts(with: beginning)
                && filter.takes(AssetName(bytes: Array(path.bytes.dropFirst(beginning.count))))
        }
    }

    /// Opens a file by its exact bytes, which a URL cannot represent.
    ///
    /// After the walk, a user with write access to one of the folders could replace a folder by a link to another
    /// user's files. Therefore only links in the path of the selected folder are followed. If the selected folder was
    /// replaced, the file must be the one that the walk found.
    /// - Throws: ``BackupError/Code/unreadable``, and another error when this process has no more file descriptors.
    public func open(_ asset: Asset) throws -> OpenedAsset { try open(asset, from: OpenFolder()) }

    /// Opens several files. Consecutive files of the same folder share one opening of it.
    public func open(_ assets: [Asset]) -> [Result<OpenedAsset, any Error>] {
        let folder = OpenFolder()
        return assets.map { asset in Result { try open(asset, from: folder) } }
    }

    private func open(_ asset: Asset, from folder: OpenFolder) throws -> OpenedAsset {
        let number = try openFile(asset, from: folder)
        let handle = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        guard let stamp = Self.stamp(number) else {
            throw BackupError(.unreadable, message: "no longer a regular file", asset: asset.id)
        }
        if allowsChanging, let byteCount = stamp.byteCount {
            // The next backup sees a different stamp and reads the file again.
            return OpenedAsset(.handle(handle, byteCount: byteCount), stamp: stamp) { stamp }
        }
        var opened = OpenedAsset(.handle(handle), stamp: stamp) { Self.stamp(handle.fileDescriptor) }
        opened.original = .original(path: asset.id.bytes, handle: handle)
        return opened
    }

    /// The folder of the file that was opened last.
    private final class OpenFolder {
        private(set) var number: Int32?
        private(set) var path: [UInt8] = []
        private(set) var rootLength = 0
        private(set) var root: FileIdentity?

        /// Takes ownership of a descriptor.
        func replace(with number: Int32, path: [UInt8], rootLength: Int, root: FileIdentity?) {
            if let number = self.number { close(number) }
            self.number = number
            self.path = path
            self.rootLength = rootLength
            self.root = root
        }

        deinit { if let number { close(number) } }
    }

    private func openFile(_ asset: Asset, from folder: OpenFolder) throws -> Int32 {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        guard let rootLength = asset.sighting?.rootLength ?? rootLength(of: asset.id) else {
            throw BackupError(.unreadable, message: "it is not in any of the folders", asset: asset.id)
        }
        let root = AssetName(bytes: Array(asset.id.bytes.prefix(rootLength)))
        var names = AssetName(bytes: Array(asset.id.bytes.dropFirst(rootLength))).components
        guard let last = names.popLast() else {
            let number = try open(root, in: AT_FDCWD, flags: flags, asset: asset)
            return try checked(number, root: Self.identity(number), asset: asset)
        }
        let path = Array(asset.id.bytes.dropLast(last.count))
        if folder.number == nil || folder.path != path || folder.rootLength != rootLength {
            var number = try open(root, in: AT_FDCWD, flags: Self.entering, asset: asset)
            let identity = Self.identity(number)
            for name in names { number = try step(from: number, to: name, Self.entering | O_NOFOLLOW, asset: asset) }
            folder.replace(with: number, path: path, rootLength: rootLength, root: identity)
        }
        let number = try open(
            AssetName(bytes: last), in: folder.number ?? AT_FDCWD, flags: flags | O_NOFOLLOW, asset: asset)
        return try checked(number, root: folder.root, asset: asset)
    }

    /// Returns the descriptor of an open file.
    ///
    /// - Throws: ``BackupError/Code/unreadable`` if the selected folder was replaced and the file is not the one that
    ///   the walk found. The descriptor is closed then.
    private func checked(_ number: Int32, root: FileIdentity?, asset: Asset) throws -> Int32 {
        let isOtherRoot = asset.sighting.map { root != $0.root } ?? false
        guard !isOtherRoot || isSame(number, asset: asset) else {
            close(number)
            throw BackupError(.unreadable, message: "its folder was replaced while it was backed up", asset: asset.id)
        }
        return number
    }

    /// Opens a name in a folder, and closes the folder.
    private func step(from folder: Int32, to name: [UInt8], _ flags: Int32, asset: Asset) throws -> Int32 {
        defer { close(folder) }
        return try open(AssetName(bytes: name), in: folder, flags: flags, asset: asset)
    }

    private func open(_ name: AssetName, in folder: Int32, flags: Int32, asset: Asset) throws -> Int32 {
        do throws(SystemError) {
            return try OpenCall.run("\(asset.id)") { openat(folder, name: name, flags: flags) }
        } catch {
            // This is not a fault of the original. Skipping it would omit it from the backup.
            if error.isDescriptorShortage { throw error }
            throw BackupError(.unreadable, message: error.reason, asset: asset.id)
        }
    }

    /// Returns true if an open file is the one that the walk found. Some file systems change the inode number of a file
    /// that was not used for a while, but not its change time.
    private func isSame(_ number: Int32, asset: Asset) -> Bool {
        Self.identity(number) == asset.sighting?.file || Self.stamp(number) == asset.stamp
    }

    /// Returns the length of the longest selected path that contains the given path, or nil if none does.
    private func rootLength(of path: AssetName) -> Int? {
        roots.filter { $0 == path || path.bytes.starts(with: $0.appending([]).bytes) }.map(\.bytes.count).max()
    }

    /// Returns the stamp of an open file, or nil if it is not a regular file.
    private static func stamp(_ number: Int32) -> AssetVersion? {
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return AssetVersion(status)
    }

    private static func identity(_ number: Int32) -> FileIdentity? {
        var status = stat()
        return fstat(number, &status) == 0 ? FileIdentity(status) : nil
    }

    #if os(Linux)
    /// Flags to open a folder for lookups, even if it may not be listed: `O_PATH`, which the C library only defines
    /// with its own extensions.
    private static let entering: Int32 = 0o10000000 | O_DIRECTORY | O_CLOEXEC
    #else
    private static let entering = O_SEARCH | O_DIRECTORY | O_CLOEXEC
    #endif

    private func openat(_ folder: Int32, name: AssetName, flags: Int32) -> Int32 {
        name.withCString { path in
            #if canImport(Glibc)
            Glibc.openat(folder, path, flags)
            #elseif canImport(Musl)
            Musl.openat(folder, path, flags)
            #else
            Darwin.openat(folder, path, flags)
            #endif
        }
    }
}
