import Foundation

/// All records of a folder, and the files that could not be read as records.
struct FolderContents: Sendable {
    var records: [TimeRecord] = []
    var damaged: [DamagedRecord] = []
}

extension JournalFolder {
    /// Reads every record. Files with other names are ignored.
    func readAll() throws -> FolderContents {
        var contents = FolderContents()
        var seen: [UUID: JournalMonth] = [:]
        for month in try months() {
            guard let folder = try folder(month, makes: false) else { continue }
            let names = try names(of: month, in: folder)
            for id in names.compactMap(Self.recordID) {
                if let other = seen.updateValue(month, forKey: id) {
                    let name = "\(month)/\(Self.fileName(id))"
                    contents.damaged.append(DamagedRecord(name: name, reason: "It is also in \(other)."))
                    continue
                }
                do {
                    contents.records.append(try record(id, at: RecordPlace(month: month, folder: folder)))
                } catch let error as FileStorageError {
                    // A record that has just been deleted is not damaged.
                    if case .fileNotFound = error { continue }
                    contents.damaged.append(DamagedRecord(name: "\(month)/\(Self.fileName(id))", reason: "\(error)"))
                }
            }
        }
        contents.records.sort(by: isBefore)
        return contents
    }

    /// Returns the missing pictures that records list, and the pictures that no record lists.
    func pictureFindings(_ records: [TimeRecord]) throws -> [DamagedRecord] {
        let named = Dictionary(records.map { ($0.id, Set($0.images)) }) { one, _ in one }
        var missing = Set(records.flatMap(\.images))
        var findings: [DamagedRecord] = []
        for month in try months() {
            guard let folder = try folder(month, makes: false) else { continue }
            for name in try names(of: month, in: folder) {
                guard let image = ImageName(name) else { continue }
                // Pictures of a damaged record are not reported.
                if folder.hasFile(Self.fileName(image.recordID)), named[image.recordID]?.contains(name) ?? true {
                    missing.remove(name)
                } else {
                    findings.append(DamagedRecord(name: "\(month)/\(name)", reason: "No record has this picture."))
                }
            }
        }
        return findings
            + missing.sorted().map {
                DamagedRecord(name: $0, reason: "A record has this picture, but its file is missing.")
            }
    }

    private func names(of month: JournalMonth, in folder: Directory) throws -> [String] {
        do {
            return try folder.names().sorted()
        } catch {
            throw FileStorageError.fileReadFailed(name: "\(month)", reason: .init(error))
        }
    }

    private static func recordID(_ name: String) -> UUID? {
        name.hasSuffix(".json") ? UUID(text: String(name.dropLast(5))) : nil
    }

    // MARK: Tags

    func tags() throws -> [Tag] {
        guard let base = try base(makes: false),
            let data = try data(Self.tags, in: base, shownAs: Self.tags)
        else { return [] }
        let tags = try Self.decoded([Tag].self, data: data, name: Self.tags)
        do {
            try tags.requireStorable()
        } catch let FileStorageError.encodingFailed(_, reason) {
            throw FileStorageError.decodingFailed(name: Self.tags, reason: reason)
        }
        return tags
    }

    func store(_ tags: [Tag]) throws {
        try tags.requireStorable()
        let data = try Self.encoded(tags, name: Self.tags)
        try write(data, as: Self.tags, in: try madeBase(), for: "tags")
    }
}
