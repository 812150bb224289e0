import Foundation
import JournalStorage

extension TimeRecord {
    /// Where its page is.
    var path: String { Self.path(of: id) }

    static func path(of id: UUID) -> String { "/records/\(id.text)" }
}
