public import Foundation

/// The end of a page of the timeline: the last record of the page, before which the next page begins.
public struct TimelinePlace: Hashable, Sendable {
    /// The start of that record, to the millisecond.
    public let start: Date
    /// The id of that record, since several records may have the same start.
    public let id: UUID

    /// Creates a place from a record's start and id.
    public init(start: Date, id: UUID) {
        self.start = start.wholeMilliseconds
        self.id = id
    }

    /// Creates the place of a record.
    public init(of record: TimeRecord) { self.init(start: record.start, id: record.id) }

    /// Reads the text of a link. Nil for any other text.
    package init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 2, let milliseconds = Int64(fields[0]), milliseconds.magnitude < 1 << 48,
            let id = UUID(uuidString: String(fields[1]))
        else { return nil }
        self.init(start: Date(timeIntervalSince1970: Double(milliseconds) / 1_000), id: id)
    }

    /// The text of a link: `{milliseconds since 1970}.{record-id}`.
    package var text: String { "\(start.millisecondsSince1970).\(id.text)" }
}
