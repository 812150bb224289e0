import Foundation

/// The folder of a journal on disk, with this layout:
///
/// ```
/// tags.json
/// records/2026/03/{record-id}.json          the month of the start, in UTC
/// records/2026/03/{record-id}_{index}.jpg   its pictures
/// .temporary/                               files being written, and leftovers of killed processes
/// ```
///
/// Every write creates a temporary file, syncs it, renames it and syncs the folder. If a change takes several writes, a
/// note in `.temporary` contains the record's id until the change is complete, so that ``removeLeftovers()`` can find
/// the files of an interrupted change.
struct JournalFolder: Sendable {
    let path: String

    static let tags = "tags.json"
    static let temporary = ".temporary"

    // MARK: Folders

    /// - Throws: ``FileStorageError/directoryCreationFailed(path:reason:)``.
    func base(makes: Bool) throws -> Directory? {
        try Self.opening(path) { try Directory.open(path, makes: makes) }
    }

    private static func opening<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw FileStorageError.directoryCreationFailed(path: path, reason: .init(error))
        }
    }

    func madeBase() throws -> Directory { try required(path, folder: try base(makes: true)) }

    func temporaryFolder() throws -> Directory {
        let base = try madeBase()
        let path = "\(path)/\(Self.temporary)"
        return try Self.opening(path) { try required(path, folder: try base.folder(Self.temporary, makes: true)) }
    }

    /// Opens the folder of a month.
    ///
    /// - Returns: The folder, or nil if it is missing and is not to be created.
    func folder(_ month: JournalMonth, makes: Bool) throws -> Directory? {
        guard var folder = try base(makes: makes) else { return nil }
        var path = path
        for name in month.folders {
            path += "/\(name)"
            guard let next = try Self.opening(path, { try folder.folder(name, makes: makes) }) else { return nil }
            folder = next
        }
        return folder
    }

    func madeFolder(_ month: JournalMonth) throws -> Directory {
        try required("\(path)/\(month)", folder: try folder(month, makes: true))
    }

    private func required(_ path: String, folder: Directory?) throws -> Directory {
        guard let folder else {
            throw FileStorageError.directoryCreationFailed(path: path, reason: "it disappeared after its creation")
        }
        return folder
    }

    /// Returns the months that have a folder, in their order.
    func months() throws -> [JournalMonth] {
        guard let base = try base(makes: false) else { return [] }
        do {
            guard let records = try base.folder(JournalMonth.root, makes: false) else { return [] }
            return try records.names().filter { JournalMonth.isNumber($0, width: 4) }.sorted().flatMap { year in
                try (records.folder(year, makes: false)?.names() ?? [])
                    .filter { JournalMonth.isNumber($0, width: 2) }.sorted().map { JournalMonth(year: year, month: $0) }
            }
        } catch {
            throw FileStorageError.fileReadFailed(name: JournalMonth.root, reason: .init(error))
        }
    }

    // MARK: Files

    /// Returns all bytes of a small file.
    ///
    /// - Returns: The bytes, or nil if the file is missing.
    func data(_ name: String, in folder: Directory, shownAs shown: String) throws -> Data? {
        do {
            return try folder.file(name)?.data()
        } catch {
            throw FileStorageError.fileReadFailed(name: shown, reason: .init(error))
        }
    }

    /// Writes a file. A file with the same name is replaced.
    func write(_ data: Data, as name: String, in folder: Directory, for purpose: String) throws {
        do {
            let file = try TemporaryFile(in: try temporaryFolder(), for: purpose)
            do {
                try file.append(data)
                try file.move(to: folder, as: name)
            } catch {
                try file.remove()
                throw error
            }
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: name, reason: .init(error))
        }
    }

    // MARK: JSON

    /// Encodes a value in the format of all files: sorted and indented, so that people and version control can read it.
    static func encoded(_ value: some Encodable, name: String) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(value) + Data("\n".utf8)
        } catch {
            throw FileStorageError.encodingFailed(name: name, reason: .init(error))
        }
    }

    static func decoded<Value: Decodable>(_ type: Value.Type, data: Data, name: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw FileStorageError.decodingFailed(name: name, reason: .init(error))
        }
    }
}
