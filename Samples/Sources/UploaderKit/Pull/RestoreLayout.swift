import Foundation
import GRDB
import LFS
import LFSBackup

/// Where files, folders and links are written. It follows from their own paths and from all folders that were ever
/// pushed, not from the push that has brought them: of folders within each other the outermost one counts.
struct RestoreLayout: Sendable {
    enum Destination: Sendable {
        /// Into a folder, where each of the outermost folders gets its own name.
        case folder(FilePath)
        /// Where they were.
        case original
    }

    let destination: Destination
    /// The folders that were pushed, also those that lie in others.
    private let roots: Set<FilePath>
    /// Those of them that are folders of this device.
    let ownRoots: Set<FilePath>
    /// What the keys of this device's files begin with.
    private let ownKeys: String
    /// The places that more than one file would be written to, and those that more than one link would.
    private let shared: Set<UInt64>
    private let sharedByLinks: Set<UInt64>
    /// Those of the places that one file, which several documents have, would be written to more than once; each with
    /// the file.
    private let sharedByEqual: Set<UInt64>

    /// - Parameter tables: which files may be written.
    init(_ destination: Destination, _ tables: [DocumentTable], _ db: Database) throws {
        self.destination = destination
        let isOurs = tables.contains { $0.isOurs }
        let (roots, ownRoots) = isOurs ? try Self.roots(db) : ([], [])
        (self.roots, self.ownRoots) = (roots, ownRoots)
        ownKeys = try String.fetchOne(db, sql: "SELECT namespace || '/' FROM lfs_state") ?? "/"
        var (seen, shared): (Set<UInt64>, Set<UInt64>) = ([], [])
        var (files, sharedByEqual): (Set<UInt64>, Set<UInt64>) = ([], [])
        var folders: Set<UInt64> = []
        var isInPlace = false
        if case .original = destination { isInPlace = true }
        for table in tables {
            try table.forEachName(db) { name in
                // What has no place here takes none.
                guard let path = name.path, name.isOwn || !isInPlace else { return }
                let places = Self.places(of: path, isInPlace ? nil : roots)
                folders.formUnion(places.folders)
                if !seen.insert(places.own).inserted { shared.insert(places.own) }
                let file = Self.hash(places.own, name.fileID)
                if !files.insert(file).inserted { sharedByEqual.insert(file) }
            }
        }
        // A file where there is a folder now, as others in it tell, gets its id.
        shared.formUnion(seen.intersection(folders))
        // So does one that has become a link or a folder since, and what is there now gets the name.
        var (links, sharedByLinks): (Set<UInt64>, Set<UInt64>) = ([], [])
        try EntryTable.forEachName(db) { path, _, isLink in
            let place = Self.places(of: path, isInPlace ? nil : roots).own
            if seen.contains(place) { shared.insert(place) }
            if isLink, !links.insert(place).inserted { sharedByLinks.insert(place) }
        }
        (self.shared, self.sharedByLinks, self.sharedByEqual) = (shared, sharedByLinks, sharedByEqual)
    }

    private var isInPlace: Bool {
        if case .original = destination { true } else { false }
    }

    /// The path from the outermost folder on, which patterns are held against; the name of a file that was pushed by
    /// itself.
    func pathInFolder(_ path: FilePath) -> AssetName {
        let names = Self.names(of: path, roots)
        let isInFolder = Self.root(of: path, roots) != nil
        return AssetName(bytes: Array(names.dropFirst(isInFolder ? 1 : 0).joined(separator: [0x2F])))
    }

    /// What stands before the name of a file: its id, where more than one file would be written to the same place.
    /// Documents may have one file, whose bytes are the same; then a number follows, as with links.
    func prefix(of path: FilePath, _ id: FileData.ID) -> String {
        let place = Self.places(of: path, isInPlace ? nil : roots).own
        guard shared.contains(place) else { return "" }
        return "\(id)-" + (sharedByEqual.contains(Self.hash(place, "\(id)")) ? Self.number(path) : "")
    }

    /// A number that follows from a path.
    private static func number(_ path: FilePath) -> String {
        let digits = String(hash([path.bytes]).own, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + "-"
    }

    /// Where a folder or a link is written. A link that shares its place with another one has a number before its name,
    /// which follows from its path.
    ///
    /// - Throws: ``UploaderError`` for a path that leads elsewhere.
    func place(of entry: Entry) throws -> RestorePlace {
        let isShared = entry.isLink && sharedByLinks.contains(Self.places(of: entry.path, isInPlace ? nil : roots).own)
        guard isShared else { return try place(of: entry.path) }
        return try place(of: entry.path, prefix: Self.number(entry.path))
    }

    /// - Throws: ``UploaderError`` when the output is a folder that was pushed: it would come into itself.
    func requireOther() throws {
        guard case .folder(let folder) = destination else { return }
        let isOwn = folder.real.map(ownRoots.contains) ?? false
        guard isOwn || ownRoots.contains(folder) else { return }
        throw UploaderError(
            """
            The files of \(folder) were pushed from there, and would come into a folder of the same name in it. Give \
            --in-place for their own places, or another --output.
            """)
    }

    /// - Throws: ``UploaderError`` for a file that was at no place of this device, where it shall go there.
    func requirePlace(_ file: FileData) throws {
        guard case .original = destination, !file.key.hasPrefix(ownKeys) else { return }
        throw UploaderError("it comes from another device, so it has no place here; --output takes it")
    }

    /// - Parameter prefix: stands before the name of a file that shares its place.
    /// - Throws: ``UploaderError`` for a path that leads elsewhere: rows are input.
    func place(of path: FilePath, prefix: String = "") throws -> RestorePlace {
        var (base, names) = (FilePath("/"), Self.names(of: path, roots))
        switch destination {
        case .folder(let folder): base = folder
        case .original:
            guard path.bytes.first == 0x2F else { throw UploaderError("nobody knows where it was") }
            // What leads to the folder that was pushed may be a link; what is in it may not.
            let all = path.components
            let depth = Self.root(of: path, roots)?.components.count ?? max(all.count - 1, 0)
            base = all.prefix(depth).reduce(base) { $0.appending($1) }
            names = Array(all.dropFirst(depth))
        }
        if !prefix.isEmpty, let last = names.popLast() { names.append(Array(prefix.utf8) + last) }
        return try RestorePlace(base: base, names: names)
    }

    // MARK: Folders that were pushed

    private static func roots(_ db: Database) throws -> (all: Set<FilePath>, own: Set<FilePath>) {
        var (roots, own): (Set<FilePath>, Set<FilePath>) = ([], [])
        func add(_ path: FilePath, depth: Int, isOwn: Bool) {
            var bytes = path.bytes[...]
            for _ in 0..<depth {
                guard let slash = bytes.lastIndex(of: 0x2F) else { return }
                bytes = bytes[..<slash]
            }
            let root = FilePath(bytes: Array(bytes))
            // What lies right below the root of the file system is as if it was pushed by itself.
            guard !root.components.isEmpty else { return }
            roots.insert(root)
            if isOwn { own.insert(root) }
        }
        // A title begins with the folder's name. That of a file that was pushed by itself is its name.
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

    /// How many folders a title has.
    private static func depth(_ title: String) -> Int { max(FilePath(title).components.count - 1, 0) }

    /// The outermost of the folders that a path is in, or is; nil for a file that was pushed by itself.
    private static func root(of path: FilePath, _ roots: Set<FilePath>) -> FilePath? {
        if roots.isEmpty { return nil }
        for index in path.bytes.indices.dropFirst() where path.bytes[index] == 0x2F {
            let folder = FilePath(bytes: Array(path.bytes[..<index]))
            if roots.contains(folder) { return folder }
        }
        return roots.contains(path) ? path : nil
    }

    /// The names below the output: those of folders, and its own.
    private static func names(of path: FilePath, _ roots: Set<FilePath>) -> [[UInt8]] {
        let names = path.components
        guard let root = root(of: path, roots) else { return names.suffix(1) }
        return Array(names.dropFirst(max(root.components.count - 1, 0)))
    }

    /// The place of a path, and those of the folders that it is in.
    ///
    /// - Parameter roots: nil for where it was.
    private static func places(of path: FilePath, _ roots: Set<FilePath>?) -> (own: UInt64, folders: [UInt64]) {
        hash(roots.map { names(of: path, $0) } ?? path.components)
    }

    /// A place in eight bytes: there may be millions. Two that have the same by chance get their ids, and lose nothing.
    ///
    /// Source: Fowler, Noll and Vo, FNV-1a.
    private static func hash(_ names: [[UInt8]]) -> (own: UInt64, folders: [UInt64]) {
        var (hash, folders): (UInt64, [UInt64]) = (0xCBF2_9CE4_8422_2325, [])
        for (index, name) in names.enumerated() {
            if index > 0 { folders.append(hash) }
            hash = Self.hash(hash, [0x2F] + name)
        }
        return (hash, folders)
    }

    /// The same of a place and the id of a file.
    private static func hash(_ place: UInt64, _ id: String) -> UInt64 { hash(place, Array(id.utf8)) }

    private static func hash(_ start: UInt64, _ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// The place of one file, folder or link. Names come from a database, so they are not trusted: they lead to no place
/// outside of the base.
package struct RestorePlace: Sendable {
    /// A folder that is not looked into how it is reached.
    let base: FilePath
    /// The names below it: of folders, the outermost first, and its own. None for the base itself.
    let names: [[UInt8]]
    package let path: FilePath

    /// The last part of the path; empty for the base itself.
    var name: [UInt8] { names.last ?? [] }

    init(base: FilePath) { (self.base, names, path) = (base, [], base) }

    /// - Throws: ``UploaderError`` for names that lead elsewhere.
    package init(base: FilePath, names: [[UInt8]]) throws {
        for name in names {
            guard !name.isEmpty, name != [0x2E], name != [0x2E, 0x2E], !name.contains(0), !name.contains(0x2F) else {
                throw UploaderError("its path in the database is not one that can be written")
            }
        }
        self.init(base, names)
    }

    private init(_ base: FilePath, _ names: [[UInt8]]) {
        (self.base, self.names) = (base, names)
        path = names.reduce(base) { $0.appending($1) }
    }

    /// The folder that it is in.
    package var folder: RestorePlace { prefix(max(names.count - 1, 0)) }

    /// The folder that so many of its names lead to.
    func prefix(_ depth: Int) -> RestorePlace { RestorePlace(base, Array(names.prefix(depth))) }
}
