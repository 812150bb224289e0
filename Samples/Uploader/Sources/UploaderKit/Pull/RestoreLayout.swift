import Foundation
import GRDB
import LFS
import LFSBackup

/// The places that files, folders and links are written to. They follow from their own paths and from all folders that
/// were ever pushed, not from the push of each file. Of nested folders, the outermost one counts.
struct RestoreLayout: Sendable {
    enum Destination: Sendable {
        /// A folder, in which each of the outermost pushed folders keeps its name.
        case folder(FilePath)
        /// The original places.
        case original
    }

    let destination: Destination
    /// The folders that were pushed, including nested ones.
    private let roots: Set<FilePath>
    /// The pushed folders of this device.
    let ownRoots: Set<FilePath>
    /// The prefix of the keys of this device's files.
    private let ownKeys: String
    /// The places that several files share, and those that several links share.
    private let shared: Set<UInt64>
    private let sharedByLinks: Set<UInt64>
    /// The places that several documents with the same file share, combined with the file.
    private let sharedByEqual: Set<UInt64>

    /// - Parameter tables: the tables with the files to write.
    init(_ destination: Destination, tables: [DocumentTable], _ db: Database) throws {
        self.destination = destination
        let isOurs = tables.contains { $0.isOurs }
        let (roots, ownRoots) = isOurs ? try Self.roots(db) : ([], [])
        self.roots = roots
        self.ownRoots = ownRoots
        ownKeys = try DocumentTable.ownKeys(db)
        var (seen, shared): (Set<UInt64>, Set<UInt64>) = ([], [])
        var (files, sharedByEqual): (Set<UInt64>, Set<UInt64>) = ([], [])
        var folders: Set<UInt64> = []
        var isInPlace = false
        if case .original = destination { isInPlace = true }
        for table in tables {
            try table.forEachName(db) { name in
                // A file without a place on this device does not occupy one.
                guard let path = name.path, name.isOwn || !isInPlace else { return }
                let places = Self.places(of: path, isInPlace ? nil : roots)
                folders.formUnion(places.folders)
                if !seen.insert(places.own).inserted { shared.insert(places.own) }
                let file = Self.hash(places.own, id: name.fileID)
                if !files.insert(file).inserted { sharedByEqual.insert(file) }
            }
        }
        // If other files show that a folder is now at the place of a file, the file gets its id as a prefix.
        shared.formUnion(seen.intersection(folders))
        // The same applies to a file that has become a link or a folder. The current link or folder gets the name.
        var (links, sharedByLinks): (Set<UInt64>, Set<UInt64>) = ([], [])
        try EntryTable.forEachName(db) { path, _, isLink in
            let place = Self.places(of: path, isInPlace ? nil : roots).own
            if seen.contains(place) { shared.insert(place) }
            if isLink, !links.insert(place).inserted { sharedByLinks.insert(place) }
        }
        self.shared = shared
        self.sharedByLinks = sharedByLinks
        self.sharedByEqual = sharedByEqual
    }

    private var isInPlace: Bool {
        if case .original = destination { true } else { false }
    }

    /// Returns the path relative to the outermost folder, for patterns. For a directly pushed file, returns its name.
    func pathInFolder(_ path: FilePath) -> AssetName {
        let names = Self.names(of: path, roots)
        let isInFolder = Self.root(of: path, roots) != nil
        return AssetName(bytes: Array(names.dropFirst(isInFolder ? 1 : 0).joined(separator: [0x2F])))
    }

    /// Returns the prefix of a file's name: its id, if several files share the place. If several documents have the
    /// same file, a number follows, as for links.
    func prefix(of path: FilePath, _ id: FileData.ID) -> String {
        let place = Self.places(of: path, isInPlace ? nil : roots).own
        guard shared.contains(place) else { return "" }
        return "\(id)-" + (sharedByEqual.contains(Self.hash(place, id: "\(id)")) ? Self.number(path) : "")
    }

    /// Returns a number that depends on a path.
    private static func number(_ path: FilePath) -> String {
        let digits = String(hash([path.bytes]).own, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + "-"
    }

    /// Returns the place of a folder or a link. If several links share the place, the name has a number as a prefix,
    /// which depends on the path.
    ///
    /// - Throws: ``UploaderError`` for a path that leads elsewhere.
    func place(of entry: Entry) throws -> RestorePlace {
        let isShared = entry.isLink && sharedByLinks.contains(Self.places(of: entry.path, isInPlace ? nil : roots).own)
        guard isShared else { return try place(of: entry.path) }
        return try place(of: entry.path, prefix: Self.number(entry.path))
    }

    /// - Throws: ``UploaderError`` if the output is a pushed folder, which would be written into itself.
    func requireOther() throws {
        guard case .folder(let folder) = destination else { return }
        let isOwn = folder.real.map(ownRoots.contains) ?? false
        guard isOwn || ownRoots.contains(folder) else { return }
        throw UploaderError(
            """
            The files of \(folder) were pushed from there, and would be written to a folder of the same name in \
            it. Give --in-place for the original places, or another --output.
            """)
    }

    /// - Throws: ``UploaderError`` for a file that has no place on this device but should be written to its original
    ///   place.
    func requirePlace(_ file: FileData) throws {
        guard case .original = destination, !file.key.hasPrefix(ownKeys) else { return }
        throw UploaderError("it comes from another device and has no place on this one: give --output")
    }

    /// - Parameter prefix: the prefix of the name if the file shares its place.
    /// - Throws: ``UploaderError`` for a path that leads elsewhere, because rows are untrusted input.
    func place(of path: FilePath, prefix: String = "") throws -> RestorePlace {
        var (base, names) = (FilePath("/"), Self.names(of: path, roots))
        switch destination {
        case .folder(let folder): base = folder
        case .original:
            guard path.bytes.first == 0x2F else { throw UploaderError("its original place is unknown") }
            // The path to the pushed folder may contain links. The path inside it may not.
            let all = path.components
            let depth = Self.root(of: path, roots)?.components.count ?? max(all.count - 1, 0)
            base = all.prefix(depth).reduce(base) { $0.appending($1) }
            names = Array(all.dropFirst(depth))
        }
        if !prefix.isEmpty, let last = names.popLast() { names.append(Self.name(last, prefix: prefix)) }
        return try RestorePlace(base: base, names: names)
    }

    /// The number of bytes in the longest name that most file systems accept.
    private static let longestName = 255

    /// Returns a name with a prefix. If both are too long for one name, the beginning of the name is left out. Its end
    /// has the extension, and the prefix is already unique.
    private static func name(_ name: [UInt8], prefix: String) -> [UInt8] {
        let excess = prefix.utf8.count + name.count - longestName
        guard excess > 0 else { return Array(prefix.utf8) + name }
        let end = name.dropFirst(excess)
        // No character is cut in half: in UTF-8, up to three continuation bytes follow the first byte of one.
        let rest = end.prefix(3).prefix { $0 & 0xC0 == 0x80 }
        return Array(prefix.utf8) + end.dropFirst(rest.count)
    }

    // MARK: Pushed folders

    private static func roots(_ db: Database) throws -> (all: Set<FilePath>, own: Set<FilePath>) {
        var (roots, own): (Set<FilePath>, Set<FilePath>) = ([], [])
        func add(_ path: FilePath, depth: Int, isOwn: Bool) {
            var bytes = path.bytes[...]
            for _ in 0..<depth {
                guard let slash = bytes.lastIndex(of: 0x2F) else { return }
                bytes = bytes[..<slash]
            }
            let root = FilePath(bytes: Array(bytes))
            // A file directly below the root of the file system counts as pushed directly.
            guard !root.components.isEmpty else { return }
            roots.insert(root)
            if isOwn { own.insert(root) }
        }
        // A title starts with the folder's name. The title of a directly pushed file is its name.
        try DocumentTable.forEachTitle(db) { path, title, isOwn in
            let depth = Self.depth(title)
            if depth > 0 { add(path, depth: depth, isOwn: isOwn) }
        }
        try EntryTable.forEachName(db) { path, title, isLink in
            let depth = Self.depth(title)
            if depth > 0 || !isLink { add(path, depth: depth, isOwn: true) }
        }
        return (roots, own)
    }

    /// Returns the number of folders in a title.
    private static func depth(_ title: String) -> Int { max(FilePath(title).components.count - 1, 0) }

    /// Returns the outermost folder that a path belongs to or is. Nil for a directly pushed file.
    private static func root(of path: FilePath, _ roots: Set<FilePath>) -> FilePath? {
        if roots.isEmpty { return nil }
        for index in path.bytes.indices.dropFirst() where path.bytes[index] == 0x2F {
            let folder = FilePath(bytes: Array(path.bytes[..<index]))
            if roots.contains(folder) { return folder }
        }
        return roots.contains(path) ? path : nil
    }

    /// Returns the components of a place below the output folder. They begin with the name of the pushed folder. For a
    /// directly pushed file, it is only the file's name.
    private static func names(of path: FilePath, _ roots: Set<FilePath>) -> [[UInt8]] {
        let names = path.components
        guard let root = root(of: path, roots) else { return names.suffix(1) }
        return Array(names.dropFirst(max(root.components.count - 1, 0)))
    }

    /// Returns the hash of a path's place, and those of the folders above it.
    ///
    /// - Parameter roots: the pushed folders. Nil for the original places.
    private static func places(of path: FilePath, _ roots: Set<FilePath>?) -> (own: UInt64, folders: [UInt64]) {
        hash(roots.map { names(of: path, $0) } ?? path.components)
    }

    /// Returns a place as an eight-byte hash, because there may be millions of places. If two places collide, both
    /// files get their ids as prefixes, and nothing is lost.
    ///
    /// Source: Fowler, Noll and Vo, FNV-1a.
    private static func hash(_ names: [[UInt8]]) -> (own: UInt64, folders: [UInt64]) {
        var (hash, folders): (UInt64, [UInt64]) = (0xCBF2_9CE4_8422_2325, [])
        for (index, name) in names.enumerated() {
            if index > 0 { folders.append(hash) }
            hash = Self.hash(hash, bytes: [0x2F] + name)
        }
        return (hash, folders)
    }

    /// Returns the hash of a place and the id of a file.
    private static func hash(_ place: UInt64, id: String) -> UInt64 { hash(place, bytes: Array(id.utf8)) }

    private static func hash(_ start: UInt64, bytes: [UInt8]) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// The place of one file, folder or link. Its names come from a database and are untrusted, so they cannot lead to a
/// place outside the base.
package struct RestorePlace: Sendable {
    /// The base folder. Links in its path are followed.
    let base: FilePath
    /// The names below the base: the folders from the outermost one, and the last name. Empty for the base itself.
    let names: [[UInt8]]
    package let path: FilePath

    /// The last component of the path. Empty for the base itself.
    var name: [UInt8] { names.last ?? [] }

    init(base: FilePath) { (self.base, names, path) = (base, [], base) }

    /// - Throws: ``UploaderError`` for names that lead elsewhere.
    package init(base: FilePath, names: [[UInt8]]) throws {
        for name in names {
            guard !name.isEmpty, name != [0x2E], name != [0x2E, 0x2E], !name.contains(0), !name.contains(0x2F) else {
                throw UploaderError("its path in the database cannot be written")
            }
        }
        self.init(base, names: names)
    }

    private init(_ base: FilePath, names: [[UInt8]]) {
        self.base = base
        self.names = names
        path = names.reduce(base) { $0.appending($1) }
    }

    /// The parent folder.
    package var folder: RestorePlace { prefix(max(names.count - 1, 0)) }

    /// Returns the folder at the given depth.
    func prefix(_ depth: Int) -> RestorePlace { RestorePlace(base, names: Array(names.prefix(depth))) }
}
