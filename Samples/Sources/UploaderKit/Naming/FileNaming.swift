import Foundation
import GRDB
import LFS
import LFSBackup

/// Which files a person means: ids, the beginnings of ids, paths, folders, and patterns.
struct FileNaming: Sendable {
    static let help = "Ids, their beginnings, paths, folders, or patterns such as '*.jpg'."
    /// What the help of each command that takes them says.
    static let discussion = """
        A file is named by its id or the beginning of it, as 'list' shows them; by its
        path or that of a folder, which means all files in it, or by the last parts of
        either; or by a pattern in quotes: * and ? stand for anything but a slash, **
        for anything, [a-c] and {jpg,heic} for one of these. A pattern without a slash
        at its start may begin in any folder. A name may also be given as it is shown,
        where \\n stands for the end of a line, \\xFF for a byte that is no text, and \\\\
        for a backslash.
        """

    /// The names, and each with its exact bytes.
    private let names: [(text: String, path: FilePath)]

    init(_ names: [String]) { self.names = Array(zip(names, FilePath.arguments(names))) }

    /// Where paths begin that do not begin with a slash.
    private let folder = FileManager.default.currentDirectoryPath

    /// A name that means no file, or one of several, with the reason.
    struct Refusal: Error, Equatable {
        let name: String
        let reason: String

        /// For people, where no report tells it.
        var words: String { "\(name): \(reason)." }
    }

    /// What the names mean in some tables together.
    ///
    /// - Parameters:
    ///   - withEntries: whether they mean folders and links, too.
    ///   - withVersions: whether ids mean old versions, too, where no file has them.
    /// - Throws: the database's error.
    func resolve(
        _ tables: [DocumentTable], withEntries: Bool = false, withVersions: Bool = false, _ db: Database
    ) throws -> NamedFiles {
        try resolve(tables, withEntries, withVersions, isForRemoval: false, db)
    }

    /// What is to be removed, with folders, links and old versions. An id that a file has and an old version as well is
    /// refused: with a file all its versions go, and that one alone may be meant. So is one that equal files have.
    ///
    /// - Throws: the database's error.
    func resolveForRemoval(_ tables: [DocumentTable], _ db: Database) throws -> NamedFiles {
        try resolve(tables, true, true, isForRemoval: true, db)
    }

    private func resolve(
        _ tables: [DocumentTable], _ withEntries: Bool, _ withVersions: Bool, isForRemoval: Bool, _ db: Database
    ) throws -> NamedFiles {
        let given = names.map { Matcher($0.text, $0.path, folder) }
        // As names are printed; it counts where nothing has the name as it is given.
        let printed = names.map { name in
            Printable.name(printedAs: name.text).map { Matcher(printed: name.text, FilePath(bytes: $0), folder) }
        }
        let matchers = given + printed.compactMap(\.self)
        var meanings = matchers.map { _ in [Meaning: [Match]]() }
        // A full id needs no look at all the others: there may be thousands of them.
        var ids: [String: [Int]] = [:]
        for (index, matcher) in matchers.enumerated() where matcher.isID { ids[matcher.id, default: []].append(index) }
        let others = matchers.indices.filter { !matchers[$0].isID }
        for (number, table) in tables.enumerated() {
            try table.forEachName(db) { name in
                for index in ids[name.fileID] ?? [] {
                    meanings[index][.id, default: []].append(Match(number, name, isDocument: table.isOurs))
                }
                for index in others {
                    let matcher = matchers[index]
                    guard let meaning = matcher.meaning(of: name) else { continue }
                    let folder = meaning == .inLastParts ? matcher.folder(of: name) : []
                    meanings[index][meaning, default: []].append(
                        Match(number, name, isDocument: table.isOurs, in: folder))
                }
            }
        }
        if withEntries {
            try EntryTable.forEachName(db) { path, _, isLink in
                for index in others {
                    guard let (meaning, match) = matchers[index].match(path, isLink: isLink, tables.count) else {
                        continue
                    }
                    meanings[index][meaning, default: []].append(match)
                }
            }
        }
        if withVersions, tables.contains(where: { $0.isOurs }) {
            try VersionTable.forEachName(db) { file in
                let match = Match(tables.count + 1, file)
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

/// What names have come to.
struct NamedFiles: Sendable {
    /// The files of each table, each once.
    var tables: [[NamedFile]]
    /// The folders and links among them.
    var entries: Set<FilePath> = []
    /// The old versions among them.
    var versions: [NamedFile] = []
    /// The keys of what a name means alone, and not with others.
    var single: Set<DatabaseValue> = []
    /// The names that mean none.
    var refusals: [FileNaming.Refusal] = []

    /// Those of all tables, without old versions.
    var files: [NamedFile] { tables.flatMap(\.self) }
}

/// A file that a person has named.
struct NamedFile: Sendable {
    enum Kind: Sendable { case document, file, version }

    /// Of the document or the old version, else of the file.
    let key: DatabaseValue
    let kind: Kind
    let fileKey: DatabaseValue
    let fileID: String
    let path: FilePath

    init(_ name: DocumentTable.Name, isDocument: Bool) { self.init(name, isDocument ? .document : .file) }

    init(_ name: DocumentTable.Name, _ kind: Kind) {
        (key, fileKey, fileID, self.kind) = (name.key, name.fileKey, name.fileID, kind)
        path = name.path ?? FilePath(name.fileID)
    }
}

/// How a name means a file; the lower one counts where a name has several.
private enum Meaning: Int, Comparable {
    case id, path, inFolder, lastParts, inLastParts, pattern, beginningOfID

    static func < (left: Meaning, right: Meaning) -> Bool { left.rawValue < right.rawValue }
}

/// A file that a name may mean.
private struct Match {
    let table: Int
    let file: NamedFile
    /// The folder that was named by its last parts.
    let folder: [UInt8]
    /// Whether this device has made it.
    let isOwn: Bool

    init(_ table: Int, _ name: DocumentTable.Name, isDocument: Bool, in folder: [UInt8] = []) {
        file = NamedFile(name, isDocument: isDocument)
        (self.table, self.folder, isOwn) = (table, folder, name.isOwn)
    }

    /// An old version, which an id means.
    init(_ table: Int, _ version: NamedFile) { (self.table, file, folder, isOwn) = (table, version, [], true) }
}

/// One name, made ready to be held against many files.
private struct Matcher {
    let name: String
    let id: String
    /// Whether it is an id as a whole.
    let isID: Bool
    private let isBeginning: Bool
    /// Whether it would begin an id, if it were longer.
    private let isShort: Bool
    private let bytes: [UInt8]
    private let path: FilePath
    private let folder: [UInt8]
    private let lastParts: [UInt8]
    private let innerParts: [UInt8]
    private let pattern: Result<PathPattern, BackupError>?

    /// A name as it is printed, which is no pattern.
    init(printed name: String, _ path: FilePath, _ current: String) { self.init(name, path, current, nil) }

    init(_ name: String, _ path: FilePath, _ current: String) {
        var pattern: Result<PathPattern, BackupError>?
        if PathPattern.isPattern(name) {
            do { pattern = .success(try PathPattern(name)) } catch { pattern = .failure(error) }
        }
        self.init(name, path, current, pattern)
    }

    private init(_ name: String, _ path: FilePath, _ current: String, _ pattern: Result<PathPattern, BackupError>?) {
        (self.name, self.pattern) = (name, pattern)
        id = name.lowercased()
        isID = FileID(id) != nil
        // Shorter ones are years and words as well.
        let isHex = id.allSatisfy { $0.isHexDigit || $0 == "-" }
        (isBeginning, isShort) = (id.count >= 8 && isHex, (4..<8).contains(id.count) && isHex)
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
                // The name alone is all the path that a file without a document has.
                if path.bytes == bytes { return .lastParts }
                if path.bytes.suffix(lastParts.count) == lastParts[...] { return .lastParts }
                if path.bytes.contains(innerParts) { return .inLastParts }
            }
            if case .success(let pattern)? = pattern, pattern.matches(AssetName(bytes: path.bytes)) { return .pattern }
        }
        return isBeginning(of: file.fileID) ? .beginningOfID : nil
    }

    /// Whether it means the file of an id that begins like this. An old version has no other name.
    func isBeginning(of id: String) -> Bool { isBeginning && id.hasPrefix(self.id) }

    /// How it means a folder or a link. A folder is in itself, so that it and the files in it are meant together.
    func match(_ path: FilePath, isLink: Bool, _ table: Int) -> (Meaning, Match)? {
        let name = DocumentTable.Name(key: path.databaseValue, fileKey: .null, path: path, isOwn: true)
        guard let meaning = meaning(of: name) else { return nil }
        switch meaning {
        case .path where !isLink: return (.inFolder, Match(table, name, isDocument: false))
        case .lastParts where !isLink:
            return (.inLastParts, Match(table, name, isDocument: false, in: path.bytes + [0x2F]))
        // A pattern means files.
        case .pattern where !isLink: return nil
        case .inLastParts: return (meaning, Match(table, name, isDocument: false, in: folder(of: name)))
        default: return (meaning, Match(table, name, isDocument: false))
        }
    }

    func choose(_ meanings: [Meaning: [Match]], isForRemoval: Bool) -> Result<[Match], FileNaming.Refusal> {
        guard var strongest = meanings.min(by: { $0.key < $1.key }) else {
            if case .failure(let error)? = pattern { return .failure(refusal(String(error.message.dropLast()))) }
            return .failure(
                refusal(
                    isShort
                        ? "no file here has this path, and of an id its first eight characters are needed"
                        : "no file here has this id or path; 'list' shows them"))
        }
        // A path is one of this device, if it has such a file: others may have the same.
        let own = strongest.value.filter(\.isOwn)
        if [.path, .inFolder, .lastParts, .inLastParts].contains(strongest.key), !own.isEmpty { strongest.value = own }
        // An id that a file has means this file, also where it was that of an old version.
        let current = Set(strongest.value.lazy.filter { $0.file.kind != .version }.map(\.file.fileID))
        let hasBoth = strongest.value.contains { $0.file.kind == .version && current.contains($0.file.fileID) }
        if isForRemoval, hasBoth {
            return .failure(refusal("a file has this id, and so has an old version: give the path for the file"))
        }
        // Whoever removes a duplicate has its id from a list, where the others have the same.
        let documents = strongest.value.count { $0.file.kind == .document }
        if isForRemoval, [.id, .beginningOfID].contains(strongest.key), documents > 1, current.count == 1 {
            return .failure(refusal("\(Format.count(documents)) equal files have this id: give the path of one"))
        }
        strongest.value.removeAll { $0.file.kind == .version && current.contains($0.file.fileID) }
        // Several files may have had the same old version.
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
                    the file of this name is not among them, and as a pattern it means others: \
                    write \\ before each of *?[{ for the name, **/ before a pattern
                    """))
        // Equal files of several paths have one id, as with the whole of it.
        case .beginningOfID where ids.count > 1:
            return .failure(refusal("\(Format.count(ids.count)) ids begin like this: give more of it"))
        default: return .success(strongest.value)
        }
    }

    /// Whether a file has exactly this name, so that nobody takes it for a pattern.
    private var isOnDisk: Bool {
        path.withCString { name in
            var status = stat()
            return lstat(name, &status) == 0
        }
    }

    /// The folder that the last parts end in, where the name means one.
    func folder(of file: DocumentTable.Name) -> [UInt8] {
        guard let path = file.path, let range = path.bytes.firstRange(of: innerParts) else { return [] }
        return Array(path.bytes[..<range.upperBound])
    }

    private func refusal(_ reason: String) -> FileNaming.Refusal { FileNaming.Refusal(name: name, reason: reason) }
}
