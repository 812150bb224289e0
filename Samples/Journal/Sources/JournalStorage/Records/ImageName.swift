public import Foundation

/// The file name of a picture: `{record-id}_{index}.{ext}`.
///
/// No other form is accepted, so that no name leads outside, to another record, or to a record's own file.
public struct ImageName: Hashable, Sendable, CustomStringConvertible {
    /// The id of the picture's record.
    public let recordID: UUID
    /// A number from 0 to 999,999, which distinguishes the pictures of one record. It does not determine their order.
    public let index: Int
    /// The file extension: 1 to 8 of the letters `a` to `z` and digits, such as `jpg`. Never `json`.
    public let fileExtension: String

    /// Creates the name of a picture of a record.
    ///
    /// - Returns: The name, or nil if the index or the extension is not permitted. Letters are converted to lowercase.
    public init?(recordID: UUID, index: Int, fileExtension: String) {
        let fileExtension = fileExtension.lowercased()
        guard Self.indexes.contains(index), Self.isAllowed(fileExtension) else { return nil }
        self.recordID = recordID
        self.index = index
        self.fileExtension = fileExtension
    }

    /// Reads a name.
    ///
    /// - Returns: The name, or nil if the text is not in exactly this form.
    public init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let id = UUID(text: String(parts[0])) else { return nil }
        let rest = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard rest.count == 2, let index = Int(rest[0]), String(index) == rest[0] else { return nil }
        self.init(recordID: id, index: index, fileExtension: String(rest[1]))
        // Compare bytes, since Unicode has several equal forms of the same text.
        guard Array(description.utf8) == Array(text.utf8) else { return nil }
    }

    /// The name as text.
    public var description: String { "\(recordID.text)_\(index).\(fileExtension)" }

    /// The permitted indexes of a name.
    static let indexes = 0...999_999

    private static func isAllowed(_ fileExtension: String) -> Bool {
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return (1...8).contains(fileExtension.utf8.count) && fileExtension.utf8.allSatisfy(allowed.contains)
            && fileExtension != "json"
    }
}

extension ImageName {
    /// Reads the name of a picture of the given record. Nil for a picture of another record.
    init?(_ text: String, of record: UUID) {
        guard let name = ImageName(text), name.recordID == record else { return nil }
        self = name
    }
}
