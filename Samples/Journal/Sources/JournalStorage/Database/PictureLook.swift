import GRDB
public import LFS

/// The appearance of a picture before it is loaded: its shape and its average color.
public struct PictureLook: Hashable, Sendable {
    /// The width of the thumbnail in pixels.
    public let width: Int
    /// The height of the thumbnail in pixels.
    public let height: Int
    /// A `#` and six hexadecimal digits.
    public let color: String

    /// The permitted widths and heights.
    static let sides = 1...65_535

    /// Creates a look.
    ///
    /// - Returns: The look, or nil if a value is out of range.
    public init?(width: Int, height: Int, color: String) {
        let digits = color.utf8.dropFirst()
        guard Self.sides.contains(width), Self.sides.contains(height), color.utf8.first == UInt8(ascii: "#"),
            digits.count == 6, digits.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
        else { return nil }
        self.width = width
        self.height = height
        self.color = color
    }
}

extension DatabaseStorageService {
    /// Stores the look of a picture on this device. Nothing happens if the file was deleted.
    public func saveLook(_ look: PictureLook, of file: FileData.ID) async throws {
        try await write("\(file)") { db in
            // The picture may have been deleted since its thumbnail was begun.
            guard try FileData.fetchOne(db, key: file) != nil else { return }
            try db.execute(
                sql: "INSERT OR REPLACE INTO picture_look (fileId, width, height, color) VALUES (?, ?, ?, ?)",
                arguments: [file, look.width, look.height, look.color])
        }
    }
}

extension PictureLook {
    /// Returns the looks of files. Files without one, and rows with invalid values, are left out.
    static func all(_ ids: [String], _ db: Database) throws -> [String: PictureLook] {
        let marks = databaseQuestionMarks(count: ids.count)
        let sql = "SELECT fileId, width, height, color FROM picture_look WHERE fileId IN (\(marks))"
        let rows = try Row.fetchAll(db, sql: sql, arguments: StatementArguments(ids))
        return rows.reduce(into: [:]) { looks, row in
            guard let id = String.fromDatabaseValue(row[0]), let width = Int.fromDatabaseValue(row[1]),
                let height = Int.fromDatabaseValue(row[2]), let color = String.fromDatabaseValue(row[3])
            else { return }
            looks[id] = PictureLook(width: width, height: height, color: color)
        }
    }
}
