public import Foundation

/// The end of a page of the timeline: the last record of the page, before which the next page begins.
public struct TimelinePlace: Hashable, Sendable {
    /// The start of that record, to the millisecond.
    public let start: Date
    /// The id of that record, since several records may have the same start.
    public let id: UUID

    /// Creates a place from a record's start and id.
    ///
    /// - Parameters:
    ///   - start: The start of the record.
    ///   - id: The id of the record.
    public init(start: Date, id: UUID) {
        self.start = start.wholeMilliseconds
        self.id = id
    }

    /// Creates the place of a record.
    public init(of record: TimeRecord) { self.init(start: record.start, id: record.id) }
}
