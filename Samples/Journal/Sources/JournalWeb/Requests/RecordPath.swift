import Foundation
import JournalStorage

extension TimeRecord {
    /// The path of the record's page.
    var path: String { Self.path(of: id) }

    static func path(of id: UUID) -> String { "/records/\(id.text)" }
}
