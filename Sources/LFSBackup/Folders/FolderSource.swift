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

/// Folders and files as originals, each by its path. The ids of the groups are paths.
///
/// A file is in every group whose folder it lies in, at any depth. Folders are told apart by what they are, not by
/// their paths, so a link or another mount of an excluded folder is excluded as well.
public struct FolderSource: AssetSource {
    /// The files and folders that are included themselves, by their absolute paths.
    public let roots: [AssetName]
    private let selection: BackupSelection
    private let groups: [(group: BackupGroup, path: AssetName)]
    private let own: [String]
    /// Which files of the included folders are taken.
    public let filter: PathFilter
    let hasEntries: Bool
    private let allowsChanging: Bool
    private var tree: PathTree?
    private var watch: FolderWatch?

    /// The files of groups.
    ///
    /// - Parameters:
    ///   - groups: their ids are paths of folders and files.
    ///   - paths: the exact paths of groups whose ids cannot say them, since they are no text.
    ///   - folder: where paths begin that do not begin with a slash; nil for the current folder.
    ///   - own: files and folders that are left out because the app writes to them itself.
    ///   - filter: which files of the included folders are taken, by their paths from that folder on. A file that is a
    ///     group itself is taken in any case, and what the filter leaves out is no item of the walk.
    ///   - hasEntries: whether folders and symbolic links are items as well: ``AssetItem/entry(_:)``. A folder comes
    ///     before what is in it, and with a filter only if anything in it is taken. Otherwise links are passed over.
    ///   - allowsChanging: whether a file may be written to while it is read. As many bytes are taken as it had when it
    ///     was opened; where others change those bytes meanwhile, some of them are old and some are new.
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

    /// Begins a walk.
    ///
    /// - Throws: ``BackupError/Code/groupAbsent`` when an excluded folder is not there: with a mistyped path, all that
    ///   should be left out would be sent.
    public func makeWalk() throws -> FolderWalk {
        var identities: [FileIdentity: Set<BackupGroup.ID>] = [:]
        for (group, path) in groups {
            if let identity = FileIdentity(at: path) {
                identities[identity, default: []].insert(group.id)
            } else if group.mode == .exclude {
                throw BackupError(
                    .groupAbsent,
                    """
                    There is nothing at \(path), which is to be left out: \(FolderWalk.reason()). Correct the path, or \
                    do not exclude it.
                    """,
                    asset: path)
            }
        }
        let ownIdentities = own.compactMap { FileIdentity(at: AssetName($0)) }
        return FolderWalk(
            roots, selection, groups: identities, own: Set(ownIdentities), where: filter, hasEntries: hasEntries,
            only: tree, watch: watch)
    }

    /// The same of which only some files and folders are looked at, by their paths. What is not in the folders, is left
    /// out by the filter, or is not there any more, is no item of a walk.
    ///
    /// It costs as much as these paths are long, however much else is in the folders.
    public func only(_ names: some Sequence<AssetName>) -> FolderSource {
        var source = self
        source.tree = PathTree(names)
        return source
    }

    /// The same whose walks watch the folders that they enter.
    func watched(by watch: FolderWatch) -> FolderSource {
        var source = self
        source.watch = watch
        return source
    }

    /// Whether a file of this path may be an item of a walk, as far as the path alone tells.
    func mayTake(_ path: AssetName) -> Bool {
        roots.contains { root in
            if path == root { return true }
            let beginning = root.appending([]).bytes
            return path.bytes.starts(with: beginning)
                && filter.takes(AssetName(bytes: Array(path.bytes.dropFirst(beginning.count))))
        }
    }

    /// Opens a file by its exact bytes, which a URL cannot carry.
    ///
    /// Somebody who may write to one of the folders could put a link to another user's files in the place of a folder
    /// since the walk. So links are followed in the path of the named folder only, and a named folder that is another
    /// one by now has to have the very file of the walk.
    /// - Throws: ``BackupError/Code/unreadable``; another error when this process may open no more files.
    public func open(_ asset: Asset) throws -> OpenedAsset {
        let number = try openFile(asset)
        let handle = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        guard let stamp = Self.stamp(number) else {
            throw BackupError(.unreadable, "not a regular file any more", asset: asset.id)
        }
        if allowsChanging, let byteCount = stamp.byteCount {
            // The next backup finds another stamp, and reads the file again.
            return OpenedAsset(.handle(handle, byteCount: byteCount), stamp: stamp) { stamp }
        }
        return OpenedAsset(.handle(handle), stamp: stamp) { Self.stamp(handle.fileDescriptor) }
    }

    private func openFile(_ asset: Asset) throws -> Int32 {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        guard let rootLength = asset.sighting?.rootLength ?? rootLength(of: asset.id) else {
            throw BackupError(.unreadable, "it is in none of the folders", asset: asset.id)
        }
        let root = AssetName(bytes: Array(asset.id.bytes.prefix(rootLength)))
        var names = AssetName(bytes: Array(asset.id.bytes.dropFirst(rootLength))).components
        let last = names.popLast()
        var number = try open(root, in: AT_FDCWD, last == nil ? flags : Self.entering, asset)
        let isOtherRoot = asset.sighting.map { Self.identity(number) != $0.root } ?? false
        if let last {
            for name in names { number = try step(from: number, to: name, Self.entering | O_NOFOLLOW, asset) }
            number = try step(from: number, to: last, flags | O_NOFOLLOW, asset)
        }
        guard !isOtherRoot || isSame(number, asset) else {
            close(number)
            throw BackupError(.unreadable, "its folder was replaced while it was backed up", asset: asset.id)
        }
        return number
    }

    /// Opens a name in a folder, and closes the folder.
    private func step(from folder: Int32, to name: [UInt8], _ flags: Int32, _ asset: Asset) throws -> Int32 {
        defer { close(folder) }
        return try open(AssetName(bytes: name), in: folder, flags, asset)
    }

    private func open(_ name: AssetName, in folder: Int32, _ flags: Int32, _ asset: Asset) throws -> Int32 {
        do throws(SystemError) {
            return try OpenCall.run("\(asset.id)") { openat(folder, name, flags) }
        } catch {
            // No fault of the original: skipping it would leave it out of the backup.
            if error.isDescriptorShortage { throw error }
            throw BackupError(.unreadable, error.reason, asset: asset.id)
        }
    }

    /// Whether an open file is the one of the walk. Some file systems give a file another inode when it was not used
    /// for a while, but not another time of its last change.
    private func isSame(_ number: Int32, _ asset: Asset) -> Bool {
        Self.identity(number) == asset.sighting?.file || Self.stamp(number) == asset.stamp
    }

    /// The length of the longest path of a named folder or file that a path begins with; nil when there is none.
    private func rootLength(of path: AssetName) -> Int? {
        roots.filter { $0 == path || path.bytes.starts(with: $0.appending([]).bytes) }.map(\.bytes.count).max()
    }

    /// Nil when it is no regular file.
    private static func stamp(_ number: Int32) -> AssetStamp? {
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return AssetStamp(status)
    }

    private static func identity(_ number: Int32) -> FileIdentity? {
        var status = stat()
        return fstat(number, &status) == 0 ? FileIdentity(status) : nil
    }

    #if os(Linux)
    /// A folder in which names are found, also where it may not be listed: `O_PATH`, which the C library names for its
    /// own extensions only.
    private static let entering: Int32 = 0o10000000 | O_DIRECTORY | O_CLOEXEC
    #else
    private static let entering = O_SEARCH | O_DIRECTORY | O_CLOEXEC
    #endif

    private func openat(_ folder: Int32, _ name: AssetName, _ flags: Int32) -> Int32 {
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
