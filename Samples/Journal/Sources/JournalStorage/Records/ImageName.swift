public import Foundation

/// The file name of a picture: `{record-id}_{index}.{ext}`.
///
/// Nothing else is a name, so that no name leads outside, to another record, or to a record's own file.
public struct ImageName: Hashable, Sendable, CustomStringConvertible {
    /// The record that it belongs to.
    public let recordID: UUID
    /// From 0 to 999,999; it tells pictures of one record apart and says nothing of their order.
    public let index: Int
    /// 1 to 8 of the letters `a` to `z` and digits, such as `jpg`; never `json`.
    public let fileExtension: String

    /// The name of a picture of a record.
    ///
    /// - Returns: nil when the index or the extension is not allowed. Letters are made lowercase.
    public init?(recordID: UUID, index: Int, fileExtension: String) {
        let fileExtension = fileExtension.lowercased()
        guard Self.indexes.contains(index), Self.isAllowed(fileExtension) else { return nil }
        self.recordID = recordID
        self.index = index
        self.fileExtension = fileExtension
    }

    /// Reads a name.
    ///
    /// - Returns: nil for anything that is not written exactly so.
    public init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let id = UUID(text: String(parts[0])) else { return nil }
        let rest = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard rest.count == 2, let index = Int(rest[0]), String(index) == rest[0] else { return nil }
        self.init(recordID: id, index: index, fileExtension: String(rest[1]))
        // Not as texts, of which Unicode knows several that are equal.
        guard Array(description.utf8) == Array(text.utf8) else { return nil }
    }

    /// The name as text.
    public var description: String { "\(recordID.text)_\(index).\(fileExtension)" }

    /// The indexes that a name can have.
    static let indexes = 0...999_999

    private static func isAllowed(_ fileExtension: String) -> Bool {
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return (1...8).contains(fileExtension.utf8.count) && fileExtension.utf8.allSatisfy(allowed.contains)
            && fileExtension != "json"
    }
}

extension ImageName {
    /// The name of a picture of this record and no other.
    init?(_ text: String, of record: UUID) {
        guard let name = ImageName(text), name.recordID == record else { return nil }
        self = name
    }
}
