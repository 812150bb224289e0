import LFS

/// A record with the files of its pictures, which distinguish a replaced picture from the earlier one.
struct RecordEntry: Codable, Hashable, Sendable {
    var record: TimeRecord
    var files: [String: FileData.ID]
}

/// A record as a folder was given it, which distinguishes changes of the folder from changes of the database.
struct GivenRecord: Codable, Hashable, Sendable {
    /// The record and the pictures that the folder has. Nil until the folder has the whole record.
    var entry: RecordEntry?
    /// The version that is being written. After a crash, the folder may have this one.
    var pending: TimeRecord?

    private var versions: [TimeRecord] { [entry?.record, pending].compactMap(\.self) }

    /// Returns true if the values of the folder's record, other than its pictures, were given to it.
    private func hasTexts(of record: TimeRecord) -> Bool {
        versions.contains { version in
            var other = version
            other.images = record.images
            return other == record
        }
    }

    /// Returns true if the folder's record and its pictures were given to it.
    func contains(_ record: TimeRecord) -> Bool {
        hasTexts(of: record) && record.images.allSatisfy { entry?.files[$0] != nil }
    }

    /// Returns the folder's record with the changes of the database. If both have changed the same, the folder takes
    /// precedence.
    func merging(_ record: TimeRecord, into stored: TimeRecord) -> TimeRecord {
        var merged = hasTexts(of: record) ? stored : record
        let names = Set(record.images)
        let isOrderGiven = versions.contains { $0.images.filter(names.contains) == record.images }
        merged.images = isOrderGiven ? stored.images : record.images
        return merged
    }
}
