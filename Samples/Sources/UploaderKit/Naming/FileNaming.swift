import Foundation
import GRDB
import LFSBackup

/// Which files a person means: ids, the beginnings of ids, paths, folders, and patterns.
struct FileNaming: Sendable {
    static let help = "Ids, their beginnings, paths, folders, or patterns such as '*.jpg'."
    /// What the help of each command that takes them says.
    static let discussion = """
        A file is named by its id or the beginning of it, as 'list' shows them; by its
        path, or the last parts of it; by a folder, which means all files in it; or by
        a pattern in quotes: * and ? stand for anything but a slash, ** for anything,
        [a-c] and {jpg,heic} for one of these. A pattern without a slash at its start
        may begin in any folder.
        """

    let names: [String]

    init(_ names: [String]) { self.names = names }

    /// Where paths begin that do not begin with a slash.
    private let folder = FileManager.default.currentDirectoryPath

    /// A name that means no file, or one of several, with the reason.
    struct Refusal: Error, Equatable {
        let name: String
        let reason: String
    }

    /// What the names mean in some tables together.
    ///
    /// - Throws: the database's error.
    func resolve(_ tables: [DocumentTable], _ db: Database) throws -> NamedFiles {
        let matchers = names.map { Matcher($0, folder) }
        var meanings = matchers.map { _ in [Meaning: [(table: Int, key: DatabaseValue)]]() }
        for (number, table) in tables.enumerated() {
            try table.forEachName(db) { file in
                for (index, matcher) in matchers.enumerated() {
                    guard let meaning = matcher.meaning(of: file) else { continue }
                    meanings[index][meaning, default: []].append((number, file.key))
                }
            }
        }
        var found = NamedFiles(keys: tables.map { _ in [] })
        var seen = tables.map { _ in Set<DatabaseValue>() }
        for (matcher, meanings) in zip(matchers, meanings) {
            switch matcher.choose(meanings) {
            case .success(let files):
                for file in files where seen[file.table].insert(file.key).inserted {
                    found.keys[file.table].append(file.key)
                }
            case .failure(let refusal): found.refusals.append(refusal)
            }
        }
        return found
    }
}

/// What names have come to.
struct NamedFiles: Sendable {
    /// The keys of each table: see ``DocumentTable/Name``.
    var keys: [[DatabaseValue]]
    var refusals: [FileNaming.Refusal] = []
}

/// How a name means a file; the lower one counts where a name has several.
private enum Meaning: Int, Comparable {
    case id, path, inFolder, pattern, lastParts, beginningOfID

    static func < (left: Meaning, right: Meaning) -> Bool { left.rawValue < right.rawValue }
}

/// One name, made ready to be held against many files.
private struct Matcher {
    let name: String
    private let id: String
    private let isBeginning: Bool
    private let bytes: [UInt8]
    private let path: FilePath
    private let folder: [UInt8]
    private let lastParts: [UInt8]
    private let pattern: Result<PathPattern, BackupError>?

    init(_ name: String, _ current: String) {
        self.name = name
        id = name.lowercased()
        // Shorter ones are words as well.
        isBeginning = id.count >= 4 && id.allSatisfy { $0.isHexDigit || $0 == "-" }
        bytes = Array(name.utf8)
        path = FilePath(name).absolute(from: current)
        folder = path.bytes == [0x2F] ? path.bytes : path.bytes + [0x2F]
        lastParts = Array("/\(name)".utf8)
        guard PathPattern.isPattern(name) else {
            pattern = nil
            return
        }
        do { pattern = .success(try PathPattern(name)) } catch { pattern = .failure(error) }
    }

    func meaning(of file: DocumentTable.Name) -> Meaning? {
        if file.fileID == id { return .id }
        if let path = file.path {
            if path == self.path || path.bytes == bytes { return .path }
            if path.bytes.starts(with: folder) { return .inFolder }
            if case .success(let pattern)? = pattern, pattern.matches(AssetName(bytes: path.bytes)) { return .pattern }
            if bytes.first != 0x2F, path.bytes.suffix(lastParts.count) == lastParts[...] { return .lastParts }
        }
        return isBeginning && file.fileID.hasPrefix(id) ? .beginningOfID : nil
    }

    func choose(
        _ meanings: [Meaning: [(table: Int, key: DatabaseValue)]]
    ) -> Result<[(table: Int, key: DatabaseValue)], FileNaming.Refusal> {
        guard let strongest = meanings.min(by: { $0.key < $1.key }) else {
            if case .failure(let error)? = pattern { return .failure(refusal(error.message)) }
            return .failure(refusal("no file here has this id or path; 'list' shows them"))
        }
        let count = strongest.value.count
        switch strongest.key {
        case .lastParts where count > 1:
            return .failure(refusal("\(Format.count(count)) files end like this: give more of the path, or a pattern"))
        case .beginningOfID where count > 1:
            return .failure(refusal("\(Format.count(count)) ids begin like this: give more of it"))
        default: return .success(strongest.value)
        }
    }

    private func refusal(_ reason: String) -> FileNaming.Refusal { FileNaming.Refusal(name: name, reason: reason) }
}
