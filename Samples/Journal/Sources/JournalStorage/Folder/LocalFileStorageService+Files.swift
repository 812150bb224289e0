import Foundation

/// The place of a record's file. After an interrupted move it may be another month than that of the record's start.
struct RecordPlace {
    let month: JournalMonth
    let folder: Directory
}

/// The folders of the journal, and the files in them.
extension LocalFileStorageService {
    static func fileName(_ id: UUID) -> String { "\(id.text).json" }

    // MARK: Folders

    /// - Throws: ``FileStorageError/directoryCreationFailed(path:reason:)``.
    func base() throws -> Directory? { try opening { try Directory.open(folder.path) } }

    /// - Throws: ``FileStorageError/directoryCreationFailed(path:reason:)``.
    func madeBase() throws -> Directory { try opening { try Directory.make(folder.path) } }

    private func opening<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw FileStorageError.directoryCreationFailed(path: folder.path, reason: .init(error))
        }
    }

    func temporaryFolder() throws -> Directory { try madeBase().makeFolder(Self.temporary) }

    /// Opens the folder of a month. Nil if it is missing.
    func folder(_ month: JournalMonth) throws -> Directory? {
        try month.folders.reduce(try base()) { try $0?.folder($1) }
    }

    /// Returns the months that have a folder, in their order.
    func months() throws -> [JournalMonth] {
        guard let records = try base()?.folder(JournalMonth.root) else { return [] }
        return try records.names().filter { JournalMonth.isNumber($0, width: 4) }.sorted().flatMap { year in
            try (records.folder(year)?.names() ?? [])
                .filter { JournalMonth.isNumber($0, width: 2) }.sorted().map { JournalMonth(year: year, month: $0) }
        }
    }

    // MARK: Places

    /// - Parameter start: A time in the month that is searched first.
    /// - Returns: The place, or nil if no month contains the record.
    func place(of id: UUID, near start: Date) throws -> RecordPlace? {
        let likely = JournalMonth(of: start)
        if let place = try place(of: id, in: likely) { return place }
        for month in try months() where month != likely {
            if let place = try place(of: id, in: month) { return place }
        }
        return nil
    }

    private func place(of id: UUID, in month: JournalMonth) throws -> RecordPlace? {
        guard let folder = try folder(month), folder.hasFile(Self.fileName(id)) else { return nil }
        return RecordPlace(month: month, folder: folder)
    }

    func requiredPlace(of id: UUID, near start: Date) throws -> RecordPlace {
        guard let place = try place(of: id, near: start) else { throw FileStorageError.fileNotFound(name: id.text) }
        return place
    }

    // MARK: Files

    /// - Throws: ``FileStorageError/decodingFailed(name:reason:)``, also for a record with another id, or for one that
    ///   could not have been saved.
    func record(_ id: UUID, at place: RecordPlace) throws -> TimeRecord {
        let file = Self.fileName(id)
        let name = "\(place.month)/\(file)"
        let record = try value(TimeRecord.self, of: file, in: place.folder, shownAs: name) { record in
            guard record.id == id else {
                throw FileStorageError.encodingFailed(name: name, reason: "its id does not match its file name")
            }
            try record.requireStorable()
        }
        guard let record else { throw FileStorageError.fileNotFound(name: id.text) }
        return record
    }

    /// Reads the value of a JSON file. Nil if the file is missing.
    ///
    /// - Parameter check: A closure that throws ``FileStorageError/encodingFailed(name:reason:)`` for a value that
    ///   could not have been saved.
    func value<Value: Decodable>(
        _ type: Value.Type, of file: String, in folder: Directory, shownAs name: String, _ check: (Value) throws -> Void
    ) throws -> Value? {
        guard let data = try reading(name, { try folder.file(file)?.data() }) else { return nil }
        let value = try JournalJSON.decoded(type, data: data, name: name)
        do {
            try check(value)
        } catch let FileStorageError.encodingFailed(_, reason) {
            throw FileStorageError.decodingFailed(name: name, reason: reason)
        }
        return value
    }

    /// Writes a file. A file with the same name is replaced.
    func write(_ data: Data, as name: String, in folder: Directory, for purpose: String) throws {
        try withTemporaryFile(for: purpose) { file in
            try file.append(data)
            try file.move(to: folder, as: name)
        }
    }

    /// Creates a temporary file, which is removed after an error.
    func withTemporaryFile(for purpose: String, _ body: (TemporaryFile) throws -> Void) throws {
        let file = try TemporaryFile(in: try temporaryFolder(), for: purpose)
        do {
            try body(file)
        } catch {
            try file.remove()
            throw error
        }
    }
}

/// The month of a record's file: that of its start in UTC, so that it is the same on every device.
struct JournalMonth: Hashable, Sendable, CustomStringConvertible {
    static let root = "records"
    let year: String
    let month: String

    init(year: String, month: String) { (self.year, self.month) = (year, month) }

    /// - Parameter instant: A time that can be stored, or one that is only shown.
    init(of instant: Date) {
        let text = Timestamp(instant).text ?? "0000-00"
        self.init(year: String(text.prefix(4)), month: String(text.dropFirst(5).prefix(2)))
    }

    var folders: [String] { [Self.root, year, month] }
    var description: String { folders.joined(separator: "/") }

    static func isNumber(_ name: String, width: Int) -> Bool {
        name.utf8.count == width && name.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
