import Foundation
import GRDB
import LFS
import LFSBackup

/// The names by which a person selects files: ids, prefixes of ids, paths, folders, and patterns.
struct FileNaming: Sendable {
    static let help = "Ids, beginnings of ids, paths, folders, or patterns such as '*.jpg'."

    /// The names, each with its exact bytes.
    private let names: [(text: String, path: FilePath)]

    init(_ names: [String]) { self.names = Array(zip(names, FilePath.arguments(names))) }

    /// The base of relative paths.
    private let folder = FileManager.default.currentDirectoryPath

    /// A name that matches no file, or is ambiguous, with the reason.
    struct Refusal: Error, Equatable {
        let name: String
        let reason: String

        /// A message for people, for use without a report.
        var words: String { "\(name): \(reason)." }
    }

    /// Resolves the names in some tables together.
    ///
    /// - Parameters:
    ///   - withEntries: true if names may refer to folders and links, too.
    ///   - withVersions: true if ids may refer to old versions, too, unless a file has the same id.
    /// - Throws: the database's error.
    func resolve(
        _ tables: [DocumentTable], withEntries: Bool = false, withVersions: Bool = false, _ db: Database
    ) throws -> NamedFiles {
        try resolve(tables, withEntries: withEntries, withVersions: withVersions, isForRemoval: false, db)
    }

    /// Resolves the names of a removal, including folders, links and old versions.
    ///
    /// An id that belongs to both a file and an old version is refused. Removing a file also removes its versions, but
    /// perhaps only the old version is meant. An id that several equal files share is refused as well.
    ///
    /// - Throws: the database's error.
    func resolveForRemoval(_ tables: [DocumentTable], _ db: Database) throws -> NamedFiles {
        try resolve(tables, withEntries: true, withVersions: true, isForRemoval: true, db)
    }

    private func resolve(
        _ tables: [DocumentTable], withEntries: Bool, withVersions: Bool, isForRemoval: Bool, _ db: Database
    ) throws -> NamedFiles {
        let given = names.map { Matcher($0.text, path: $0.path, current: folder) }
        // The names in their printed form. This form only applies if no file has the name as given.
        let printed = names.map { name in
            Printable.name(printedAs: name.text).map {
                Matcher(printed: name.text, FilePath(bytes: $0), current: folder)
            }
        }
        let matchers = given + printed.compactMap(\.self)
        var meanings = matchers.map { _ in [Meaning: [Match]]() }
        // Full ids are looked up directly instead of being compared with every file, because there may be thousands of
        // them.
        var ids: [String: [Int]] = [:]
        for (index, matcher) in matchers.enumerated() where matcher.isID { ids[matcher.id, default: []].append(index) }
        let others = matchers.indices.filter { !matchers[$0].isID }
        for (number, table) in tables.enumerated() {
            try table.forEachName(db) { name in
                for index in ids[name.fileID] ?? [] {
                    meanings[index][.id, default: []].append(Match(number, name: name, isDocument: table.isOurs))
                }
                for index in others {
                    let matcher = matchers[index]
                    guard let meaning = matcher.meaning(of: name) else { continue }
                    let folder = meaning == .inLastParts ? matcher.folder(of: name) : []
                    meanings[index][meaning, default: []].append(
                        Match(number, name: name, isDocument: table.isOurs, in: folder))
                }
            }
        }
        if withEntries {
            try EntryTable.forEachName(db) { path, _, isLink in
                for index in others {
                    guard let (meaning, match) = matchers[index].match(path, isLink: isLink, table: tables.count) else {
                        continue
                    }
                    meanings[index][meaning, default: []].append(match)
                }
            }
        }
        if withVersions, tables.contains(where: { $0.isOurs }) {
            try VersionTable.forEachName(db) { file in
                let match = Match(tables.count + 1, version: file)
                for index in ids[file.fileID] ?? [] { meanings[index][.id, default: []].append(match) }
                for index in others where matchers[index].isBeginning(of: file.fileID) {
                    meanings[index][.beginningOfID, default: []].append(match)
                }
            }
        }
        var found = NamedFiles(tables: tables.map { _ in [] })
        var seen = (0...tables.count + 1).map { _ in Set<DatabaseValue>() }
        var unused = meanings.dropFirst(given.count)
        for (index, other) in printed.enumerated() {
            let ofPrinted = other.flatMap { _ in unused.popFirst() } ?? [:]
            let choice =
                if let other, meanings[index].isEmpty, !ofPrinted.isEmpty {
                    other.choose(ofPrinted, isForRemoval: isForRemoval)
                } else {
                    given[index].choose(meanings[index], isForRemoval: isForRemoval)
                }
            switch choice {
            case .success(let matches):
                if matches.count == 1, let only = matches.first { found.single.insert(only.file.key) }
                for match in matches where seen[match.table].insert(match.file.key).inserted {
                    switch match.table {
                    case tables.count: found.entries.insert(match.file.path)
                    case tables.count + 1: found.versions.append(match.file)
                    default: found.tables[match.table].append(match.file)
                    }
                }
            case .failure(let refusal): found.refusals.append(refusal)
            }
        }
        return found
    }
}

/// The result of resolving names.
struct NamedFiles: Sendable {
    /// The files of each table, without duplicates.
    var tables: [[NamedFile]]
    /// The matching folders and links.
    var entries: Set<FilePath> = []
    /// The matching old versions.
    var versions: [NamedFile] = []
    /// The keys of files that are the only match of a name.
    var single: Set<DatabaseValue> = []
    /// The names without a match.
    var refusals: [FileNaming.Refusal] = []

    /// The files of all tables, without old versions.
    var files: [NamedFile] { tables.flatMap(\.self) }
}

/// A file that a person has named.
struct NamedFile: Sendable {
    enum Kind: Sendable { case document, file, version }

    /// The primary key of the row that ``kind`` names.
    let key: DatabaseValue
    let kind: Kind
    let fileKey: DatabaseValue
    let fileID: String
    let path: FilePath

    init(_ name: DocumentTable.Name, isDocument: Bool) { self.init(name, kind: isDocument ? .document : .file) }

    init(_ name: DocumentTable.Name, kind: Kind) {
        key = name.key
        fileKey = name.fileKey
        fileID = name.fileID
        self.kind = kind
        path = name.path ?? FilePath(name.fileID)
    }
}

/// The way in which a name matches a file. If a name matches in several ways, the first case applies.
private enum Meaning: Int, Comparable {
    case id, path, inFolder, lastParts, inLastParts, pattern, beginningOfID

    static func < (left: Meaning, right: Meaning) -> Bool { left.rawValue < right.rawValue }
}

/// A file that matches a name.
private struct Match {
    let table: Int
    let file: NamedFile
    /// The folder whose last path components were named.
    let folder: [UInt8]
    /// True if this device created the file.
    let isOwn: Bool

    init(_ table: Int, name: DocumentTable.Name, isDocument: Bool, in folder: [UInt8] = []) {
        file = NamedFile(name, isDocument: isDocument)
        self.table = table
        self.folder = folder
        isOwn = name.isOwn
    }

    /// Creates the match of an id with an old version.
    init(_ table: Int, version: NamedFile) { (self.table, file, folder, isOwn) = (table, version, [], true) }
}

/// A name, prepared for comparisons with many files.
private struct Matcher {
    let name: String
    let id: String
    /// True if it is a complete id.
    let isID: Bool
    private let isBeginning: Bool
    /// True if it has the form of an id prefix but is too short.
    private let isShort: Bool
    private let bytes: [UInt8]
    private let path: FilePath
    private let folder: [UInt8]
    private let lastParts: [UInt8]
    private let innerParts: [UInt8]
    private let pattern: Result<PathPattern, BackupError>?

    /// Creates a matcher for a printed name, which is not a pattern.
    init(printed name: String, _ path: FilePath, current: String) {
        self.init(name, path: path, current: current, pattern: nil)
    }

    init(_ name: String, path: FilePath, current: String) {
        var pattern: Result<PathPattern, BackupError>?
        if PathPattern.isPattern(name) {
            do { pattern = .success(try PathPattern(name)) } catch { pattern = .failure(error) }
        }
        self.init(name, path: path, current: current, pattern: pattern)
    }

    private init(_ name: String, path: FilePath, current: String, pattern: Result<PathPattern, BackupError>?) {
        self.name = name
        self.pattern = pattern
        id = name.lowercased()
        isID = FileID(id) != nil
        // Shorter texts may also be years or words.
        let isHex = id.allSatisfy { $0.isHexDigit || $0 == "-" }
        isBeginning = id.count >= 8 && isHex
        isShort = (4..<8).contains(id.count) && isHex
        bytes = path.bytes
        self.path = path.absolute(from: current)
        folder = self.path.bytes == [0x2F] ? self.path.bytes : self.path.bytes + [0x2F]
        let parts = bytes.last == 0x2F ? Array(bytes.dropLast()) : bytes
        lastParts = [0x2F] + parts
        innerParts = [0x2F] + parts + [0x2F]
    }

    func meaning(of file: DocumentTable.Name) -> Meaning? {
        if let path = file.path {
            if path == self.path { return .path }
            if path.bytes.starts(with: folder) { return .inFolder }
            if bytes.first != 0x2F {
                // A file without a document has only a name as its path.
                if path.bytes == bytes { return .lastParts }
                if path.bytes.suffix(lastParts.count) == lastParts[...] { return .lastParts }
                if path.bytes.contains(innerParts) { return .inLastParts }
            }
            if case .success(let pattern)? = pattern, pattern.matches(AssetName(bytes: path.bytes)) { return .pattern }
        }
        return isBeginning(of: file.fileID) ? .beginningOfID : nil
    }

    /// Returns true if the name is a prefix of an id. Old versions have no other name.
    func isBeginning(of id: String) -> Bool { isBeginning && id.hasPrefix(self.id) }

    /// Returns the match with a folder or a link. A folder counts as being in itself, so that it is selected together
    /// with its files.
    func match(_ path: FilePath, isLink: Bool, table: Int) -> (Meaning, Match)? {
        let name = DocumentTable.Name(key: path.databaseValue, fileKey: .null, path: path, isOwn: true)
        guard let meaning = meaning(of: name) else { return nil }
        switch meaning {
        case .path where !isLink: return (.inFolder, Match(table, name: name, isDocument: false))
        case .lastParts where !isLink:
            return (.inLastParts, Match(table, name: name, isDocument: false, in: path.bytes + [0x2F]))
        // A pattern selects files only.
        case .pattern where !isLink: return nil
        case .inLastParts: return (meaning, Match(table, name: name, isDocument: false, in: folder(of: name)))
        default: return (meaning, Match(table, name: name, isDocument: false))
        }
    }

    func choose(_ meanings: [Meaning: [Match]], isForRemoval: Bool) -> Result<[Match], FileNaming.Refusal> {
        guard var strongest = meanings.min(by: { $0.key < $1.key }) else {
            if case .failure(let error)? = pattern { return .failure(refusal(String(error.message.dropLast()))) }
            return .failure(
                refusal(
                    isShort
                        ? "no file has this path, and an id needs its first eight characters"
                        : "no file has this id or path; 'list' shows all files"))
        }
        // A path refers to a file of this device if there is one. Files of other devices may have the same path.
        let own = strongest.value.filter(\.isOwn)
        if [.path, .inFolder, .lastParts, .inLastParts].contains(strongest.key), !own.isEmpty { strongest.value = own }
        // An id refers to the current file, even if an old version has the same id.
        let current = Set(strongest.value.lazy.filter { $0.file.kind != .version }.map(\.file.fileID))
        let hasBoth = strongest.value.contains { $0.file.kind == .version && current.contains($0.file.fileID) }
        if isForRemoval, hasBoth {
            return .failure(refusal("a file and an old version have this id: give the path of the file"))
        }
        // A person who removes a duplicate has its id from a list in which the other files have the same id.
        let documents = strongest.value.count { $0.file.kind == .document }
        if isForRemoval, [.id, .beginningOfID].contains(strongest.key), documents > 1, current.count == 1 {
            return .failure(refusal("\(Format.count(documents)) equal files have this id: give the path of one"))
        }
        strongest.value.removeAll { $0.file.kind == .version && current.contains($0.file.fileID) }
        // Several files may have the same old version.
        let versions = strongest.value.filter { $0.file.kind == .version }
        let ids = Set(strongest.value.map(\.file.fileID))
        let count = strongest.value.count - versions.count + Set(versions.map(\.file.fileID)).count
        switch strongest.key {
        case .lastParts where count > 1:
            return .failure(refusal("\(Format.count(count)) files end like this: give more of the path, or a pattern"))
        case .inLastParts where Set(strongest.value.map(\.folder)).count > 1:
            let folders = Format.count(Set(strongest.value.map(\.folder)).count)
            return .failure(refusal("\(folders) folders end like this: give more of the path, or a pattern"))
        case .pattern where isOnDisk:
            return .failure(
                refusal(
                    """
                    the file of this name is not in the database, and as a pattern it selects others: \
                    write \\ before each of *?[{ for the name, **/ before a pattern
                    """))
        // Equal files with several paths have the same id, so a prefix selects them like the full id.
        case .beginningOfID where ids.count > 1:
            return .failure(refusal("\(Format.count(ids.count)) ids start like this: give more characters"))
        default: return .success(strongest.value)
        }
    }

    /// True if a file on the disk has exactly this name, so that the name is not mistaken for a pattern.
    private var isOnDisk: Bool {
        path.withCString { name in
            var status = stat()
            return lstat(name, &status) == 0
        }
    }

    /// Returns the folder that the last path components refer to, if the name refers to a folder.
    func folder(of file: DocumentTable.Name) -> [UInt8] {
        guard let path = file.path, let range = path.bytes.firstRange(of: innerParts) else { return [] }
        return Array(path.bytes[..<range.upperBound])
    }

    private func refusal(_ reason: String) -> FileNaming.Refusal { FileNaming.Refusal(name: name, reason: reason) }
}
