import Foundation
import GRDB
import LFS

/// Files whose originals are not where they were pushed from any more.
///
/// A disk that is not mounted looks like an empty folder, or like none: what was in a folder that is empty now, or that
/// has nothing any more of all that was pushed from it, may only seem gone.
struct GoneOriginals: Sendable {
    /// Those that are gone for sure.
    private(set) var files: [NamedFile] = []
    /// Those that may only seem gone, by the folder that tells so.
    private(set) var doubts: [Doubt] = []
    /// The names that mean nothing.
    private(set) var refusals: [FileNaming.Refusal] = []

    /// Files that may only seem gone.
    struct Doubt: Sendable {
        let folder: FilePath
        var files: [NamedFile]

        var words: String {
            """
            \(folder) is empty, missing, or without all that was pushed from it. Is its disk mounted? \
            \(Format.count(files.count, "file")) may only seem gone.
            """
        }
    }

    /// All that seem gone.
    var all: [NamedFile] { files + doubts.flatMap(\.files) }

    /// - Parameter acceptsEmpty: whether those that seem gone are.
    func certain(acceptsEmpty: Bool) -> [NamedFile] { acceptsEmpty ? all : files }

    func allRefusals(acceptsEmpty: Bool) -> [FileNaming.Refusal] {
        if acceptsEmpty { return refusals }
        return refusals
            + doubts.map { doubt in
                FileNaming.Refusal(
                    name: doubt.folder.description,
                    reason: """
                        it is empty, missing, or without all that was pushed from it, and \
                        \(Format.count(doubt.files.count, "file")) may only seem gone: is its disk mounted? \
                        --accept-empty removes them
                        """)
            }
    }

    /// - Parameter naming: which files; nil for all.
    /// - Throws: the database's error.
    static func find(
        _ naming: FileNaming?, _ table: DocumentTable, _ database: any DatabaseReader
    ) throws -> GoneOriginals {
        let (pushed, named) = try database.read { db in (try table.pushedFiles(db), try naming?.resolve(table.all, db))
        }
        var found = GoneOriginals()
        found.refusals = named?.refusals ?? []
        let wanted = named.map { Set($0.files.map(\.key)) }
        var gone: [DocumentTable.PushedFile] = []
        // Roots that still have something of what was pushed from them.
        var living: Set<FilePath> = []
        for pushed in pushed {
            if !isGone(pushed.file.path) {
                if let root = pushed.root { living.insert(root) }
            } else if wanted?.contains(pushed.file.key) != false {
                gone.append(pushed)
            }
        }
        var doubts: [FilePath: [NamedFile]] = [:]
        var looks: [FilePath: Bool] = [:]
        for gone in gone {
            if let folder = doubtful(gone, living, &looks) {
                doubts[folder, default: []].append(gone.file)
            } else {
                found.files.append(gone.file)
            }
        }
        found.doubts = doubts.map { Doubt(folder: $0.key, files: $0.value) }
            .sorted { $0.folder.description < $1.folder.description }
        return found
    }

    /// Whether nothing has the name any more. Where that cannot be told, something has.
    static func isGone(_ path: FilePath) -> Bool {
        var status = stat()
        return path.withCString { lstat($0, &status) } != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// The folder that makes it doubtful whether a file is gone; nil when nothing does.
    private static func doubtful(
        _ gone: DocumentTable.PushedFile, _ living: Set<FilePath>, _ looks: inout [FilePath: Bool]
    ) -> FilePath? {
        if let root = gone.root, !living.contains(root) { return root }
        // The nearest folder above it that is there, but not above the one that was pushed.
        var parts = gone.file.path.components
        while parts.popLast() != nil {
            let folder = FilePath(bytes: [0x2F] + Array(parts.joined(separator: [0x2F])))
            if isGone(folder), gone.root != nil, folder != gone.root {
                // Where disks are mounted by themselves, the folder goes with the disk.
                if isMountPlace(parts) { return folder }
                continue
            }
            let isFilled = looks[folder] ?? hasNames(folder)
            looks[folder] = isFilled
            return isFilled ? nil : folder
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

    private static func hasNames(_ folder: FilePath) -> Bool {
        guard let stream = folder.withCString({ opendir($0) }) else { return false }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { return true }
        }
        return false
    }
}
