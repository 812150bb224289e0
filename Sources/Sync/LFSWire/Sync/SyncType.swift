/// A versioned kind of row, as written in lines: `FileV1`, `RecipeV2`.
package struct SyncType: Hashable, Sendable, CustomStringConvertible {
    /// The name that is derived from the table: `AlbumFile` for `album_file`, `File` for `lfs_file`.
    package let name: String
    /// The version, starting at 1.
    package let version: Int

    package init(name: String, version: Int) {
        self.name = name
        self.version = version
    }

    /// - Parameter text: a text that ``description`` has written. The result is nil for any other text.
    package init?(_ text: some StringProtocol) {
        guard let mark = text.lastIndex(of: "V") else { return nil }
        let digits = text[text.utf8.index(after: mark)...].utf8
        let name = text[..<mark]
        guard (1...4).contains(digits.count), digits.allSatisfy({ $0.isBetween("0", last: "9") }),
            digits.first != UInt8(ascii: "0"),
            let version = Int(String(text[text.utf8.index(after: mark)...])), Self.isName(name)
        else { return nil }
        self.init(name: String(name), version: version)
    }

    package var description: String { "\(name)V\(version)" }

    /// The type name of deletions in lines.
    package var deletion: String { "\(name)DeleteV\(version)" }

    /// The table whose rows are files.
    package static let fileTable = "lfs_file"

    /// Returns the type name for a table's rows. Nil if the table's name is unsuitable or the protocol uses the type
    /// name itself.
    package static func name(ofTable table: String) -> String? {
        guard table.utf8.count <= 60, table.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }) else {
            return nil
        }
        let words = (table == fileTable ? "file" : table).split(separator: "_")
        let name = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        guard isName(name), !name.hasSuffix("Delete"), !name.hasPrefix("Sync"), name != "Scope" else { return nil }
        return name
    }

    private static func isName(_ text: some StringProtocol) -> Bool {
        (1...60).contains(text.utf8.count) && text.utf8.allSatisfy(\.isLetterOrDigit)
            && text.utf8.first.map { $0.isBetween("A", last: "Z") } == true
    }
}
