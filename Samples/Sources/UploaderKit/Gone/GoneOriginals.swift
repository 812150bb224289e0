import Foundation
import GRDB
import LFS

/// Files whose originals are not where they were pushed from any more, and folders and links that are not.
///
/// A disk that is not mounted looks like an empty folder, like one with what lies below its mount point, or like none.
/// So a file is gone for certain only where the nearest folder above it that is there still has something of all that
/// was pushed from it; else it may only seem gone.
struct GoneOriginals: Sendable {
    /// Those that are gone for sure.
    private(set) var files: [NamedFile] = []
    /// Those that may only seem gone, by the folder that tells so.
    private(set) var doubts: [Doubt] = []
    /// The folders and links that are gone for sure.
    private(set) var entries: Set<FilePath> = []
    /// The folders above files that stay in any case.
    private var foldersInUse: Set<FilePath> = []
    /// The names that mean nothing.
    private(set) var refusals: [FileNaming.Refusal] = []

    /// Files that may only seem gone.
    struct Doubt: Sendable {
        let folder: FilePath
        var files: [NamedFile] = []
        /// Folders and links.
        var entries: Set<FilePath> = []

        fileprivate var count: String {
            files.isEmpty
                ? Format.count(entries.count, "folder or link", "folders and links")
                : Format.count(files.count, "file")
        }

        var words: String {
            """
            \(folder) is empty, missing, or without all that was pushed from it. Is its disk mounted? \(count) may \
            only seem gone.
            """
        }
    }

    /// All that seem gone.
    var all: [NamedFile] { files + doubts.flatMap(\.files) }

    /// - Parameter acceptsEmpty: whether those that seem gone are.
    func certain(acceptsEmpty: Bool) -> [NamedFile] { acceptsEmpty ? all : files }

    /// The folders and links that are forgotten with the files: those without a file that stays.
    func certainEntries(acceptsEmpty: Bool) -> Set<FilePath> {
        if acceptsEmpty { return doubts.reduce(entries) { $0.union($1.entries) } }
        var inUse: Set<FilePath> = []
        for doubt in doubts { for file in doubt.files { inUse.insertFolders(above: file.path) } }
        return entries.subtracting(inUse)
    }

    func allRefusals(acceptsEmpty: Bool) -> [FileNaming.Refusal] {
        if acceptsEmpty { return refusals }
        return refusals
            + doubts.map { doubt in
                FileNaming.Refusal(
                    name: doubt.folder.exact,
                    reason: """
                        it is empty, missing, or without all that was pushed from it, and \
                        \(doubt.count) may only seem gone: is its disk mounted? --accept-empty \
                        \(doubt.files.isEmpty ? "forgets" : "removes") them
                        """)
            }
    }

    /// - Parameter naming: which files; nil for all.
    /// - Throws: the database's error.
    static func find(
        _ naming: FileNaming?, _ table: DocumentTable, _ database: any DatabaseReader
    ) throws -> GoneOriginals {
        let (pushed, named, entries) = try database.read { db in
            let named = try naming?.resolve(table.all, withEntries: true, db)
            return (try table.pushedFiles(db), named, try goneEntries(named?.entries, db))
        }
        var found = GoneOriginals()
        found.refusals = named?.refusals ?? []
        let wanted = named.map { Set($0.files.map(\.key)) }
        var gone: [DocumentTable.PushedFile] = []
        var living = LivingFolders()
        for pushed in pushed {
            if !pushed.isMoved, pushed.file.path.isGoneAsFile {
                if wanted?.contains(pushed.file.key) != false {
                    gone.append(pushed)
                    continue
                }
            } else if !pushed.isMoved {
                living.insert(pushed.origin)
            }
            found.foldersInUse.insertFolders(above: pushed.file.path)
        }
        var doubts: [FilePath: Doubt] = [:]
        for gone in gone {
            if let folder = doubtful(gone.origin, living) {
                doubts[folder, default: Doubt(folder: folder)].files.append(gone.file)
            } else {
                found.files.append(gone.file)
            }
        }
        for entry in entries where !found.foldersInUse.contains(entry.path) {
            if let folder = doubtful(entry, living) {
                doubts[folder, default: Doubt(folder: folder)].entries.insert(entry.path)
            } else {
                found.entries.insert(entry.path)
            }
        }
        found.doubts = doubts.values.sorted { $0.folder.description < $1.folder.description }
        return found
    }

    /// - Parameter wanted: which; nil for all.
    private static func goneEntries(_ wanted: Set<FilePath>?, _ db: Database) throws -> [Origin] {
        var gone: [Origin] = []
        try EntryTable.forEachName(db) { path, title, isLink in
            guard wanted?.contains(path) != false, path.isGone else { return }
            gone.append(Origin(path, title: title, isFolder: !isLink))
        }
        return gone
    }

    /// The folder that makes it doubtful whether a file is gone; nil when nothing does.
    private static func doubtful(_ gone: Origin, _ living: LivingFolders) -> FilePath? {
        if let root = gone.root, !living.contains(root) { return root }
        // The nearest folder above it that is there, but not above the one that was pushed.
        for folder in gone.foldersToRoot {
            if folder.isGone, gone.root != nil, folder != gone.root {
                // Where disks are mounted by themselves, the folder goes with the disk.
                if isMountPlace(folder.components) { return folder }
                continue
            }
            return living.contains(folder) ? nil : folder
        }
        return nil
    }

    /// Whether a path is one of those at which systems mount disks that are plugged in: below `/mnt`, `/media`,
    /// `/run/media` and `/Volumes`, for `media` also below a folder of each user.
    private static func isMountPlace(_ parts: [[UInt8]]) -> Bool {
        let names = parts.map { String(decoding: $0, as: UTF8.self) }
        return switch names.first {
        case "mnt", "Volumes": names.count == 2
        case "media": names.count == 2 || names.count == 3
        case "run": names.count == 4 && names[1] == "media"
        default: false
        }
    }
}

/// The folders that still have something of what was pushed from them, directly or further below.
private struct LivingFolders {
    /// With how many parts the highest folder has up to which those above have it, too.
    private var folders: [FilePath: Int] = [:]

    func contains(_ folder: FilePath) -> Bool { folders[folder] != nil }

    /// - Parameter file: one that is there. Folders above the one that was pushed prove nothing by it.
    mutating func insert(_ file: Origin) {
        let highest = file.foldersToRoot.last?.components.count ?? 0
        for folder in file.foldersToRoot {
            if let known = folders[folder], known <= highest { return }
            folders[folder] = highest
        }
    }
}

extension Set<FilePath> {
    /// Inserts all folders above a path. Those above one that is there are there as well.
    fileprivate mutating func insertFolders(above path: FilePath) {
        var next = path.folder
        while let folder = next, insert(folder).inserted { next = folder.folder }
    }
}
