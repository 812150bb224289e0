import Foundation

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
