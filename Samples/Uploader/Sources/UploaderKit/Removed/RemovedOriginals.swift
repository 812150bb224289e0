import Foundation
import GRDB
import LFS

/// The files whose originals no longer exist where they were pushed from, and such folders and links.
///
/// An unmounted disk looks like an empty folder, like a folder with the content below its mount point, or like a
/// missing folder. A file is therefore certainly missing only if the nearest existing folder above it still contains
/// something that was pushed from it. Otherwise it may only seem to be missing.
struct RemovedOriginals: Sendable {
    /// The files that are certainly missing.
    private(set) var files: [NamedFile] = []
    /// The files that may only seem to be missing, grouped by the doubtful folder.
    private(set) var doubts: [SuspectedRemoval] = []
    /// The folders and links that are certainly missing.
    private(set) var entries: Set<FilePath> = []
    /// The folders above files that stay in any case.
    private var foldersInUse: Set<FilePath> = []
    /// The unknown names.
    private(set) var refusals: [FileNaming.Refusal] = []

    /// Files that may only seem to be missing.
    struct SuspectedRemoval: Sendable {
        let folder: FilePath
        var files: [NamedFile] = []
        /// The folders and links.
        var entries: Set<FilePath> = []

        fileprivate var count: String {
            files.isEmpty
                ? Format.count(entries.count, noun: "folder or link", plural: "folders and links")
                : Format.count(files.count, noun: "file")
        }

        var words: String {
            """
            \(folder) is empty or missing, or has none of the files that were pushed from it. Is its disk mounted? \
            \(count) may only seem gone.
            """
        }
    }

    /// All files that are missing or seem to be.
    var all: [NamedFile] { files + doubts.flatMap(\.files) }

    /// - Parameter acceptsEmpty: true if files that seem to be missing count as missing.
    func certain(acceptsEmpty: Bool) -> [NamedFile] { acceptsEmpty ? all : files }

    /// Returns the folders and links to remove together with the files: those without a remaining file.
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
                        it is empty or missing, or has none of the files that were pushed from it, and \
                        \(doubt.count) may only seem gone: is its disk mounted? --accept-empty \
                        \(doubt.files.isEmpty ? "forgets" : "removes") them
                        """)
            }
    }

    /// - Parameter naming: the files to examine. Nil for all.
    /// - Throws: the database's error.
    static func find(
        _ naming: FileNaming?, table: DocumentTable, database: any DatabaseReader
    ) throws -> RemovedOriginals {
        let (pushed, named, entries) = try database.read { db in
            let named = try naming?.resolve(table.all, withEntries: true, db)
            return (try table.pushedFiles(db), named, try goneEntries(named?.entries, db))
        }
        var found = RemovedOriginals()
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
        var doubts: [FilePath: SuspectedRemoval] = [:]
        for gone in gone {
            if let folder = doubtful(gone.origin, living: living) {
                doubts[folder, default: SuspectedRemoval(folder: folder)].files.append(gone.file)
            } else {
                found.files.append(gone.file)
            }
        }
        for entry in entries where !found.foldersInUse.contains(entry.path) {
            if let folder = doubtful(entry, living: living) {
                doubts[folder, default: SuspectedRemoval(folder: folder)].entries.insert(entry.path)
            } else {
                found.entries.insert(entry.path)
            }
        }
        found.doubts = doubts.values.sorted { $0.folder.description < $1.folder.description }
        return found
    }

    /// - Parameter wanted: the paths to examine. Nil for all.
    private static func goneEntries(_ wanted: Set<FilePath>?, _ db: Database) throws -> [Origin] {
        var gone: [Origin] = []
        try EntryTable.forEachName(db) { path, title, isLink in
            guard wanted?.contains(path) != false, path.isGone else { return }
            gone.append(Origin(path, title: title, isFolder: !isLink))
        }
        return gone
    }

    /// Returns the folder that makes it doubtful whether a file is missing, or nil without a doubt.
    private static func doubtful(_ gone: Origin, living: LivingFolders) -> FilePath? {
        if let root = gone.root, !living.contains(root) { return root }
        // Looks for the nearest existing folder above it, up to the pushed folder.
        for folder in gone.foldersToRoot {
            if folder.isGone, gone.root != nil, folder != gone.root {
                // If disks are mounted automatically, the folder disappears together with the disk.
                if isMountPlace(folder.components) { return folder }
                continue
            }
            return living.contains(folder) ? nil : folder
        }
        return nil
    }

    /// Returns true if systems mount removable disks at a path: below `/mnt`, `/media`, `/run/media` and `/Volumes`,
    /// for `media` also below a folder for each user.
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

/// The folders that still contain a pushed file, at any depth.
private struct LivingFolders {
    /// The folders, each with the number of path components of the highest folder above it that is also recorded.
    private var folders: [FilePath: Int] = [:]

    func contains(_ folder: FilePath) -> Bool { folders[folder] != nil }

    /// - Parameter file: an existing file. It says nothing about folders above the pushed one.
    mutating func insert(_ file: Origin) {
        let highest = file.foldersToRoot.last?.components.count ?? 0
        for folder in file.foldersToRoot {
            if let known = folders[folder], known <= highest { return }
            folders[folder] = highest
        }
    }
}

extension Set<FilePath> {
    /// Inserts all folders above a path. If a folder is already in the set, so are the folders above it.
    fileprivate mutating func insertFolders(above path: FilePath) {
        var next = path.folder
        while let folder = next, insert(folder).inserted { next = folder.folder }
    }
}
