public import Foundation

/// Where a page of the timeline ends: at the record that the next page comes before.
public struct TimelinePlace: Hashable, Sendable {
    /// When that record began, to the millisecond.
    public let start: Date
    /// The record's own id, since several may begin at once.
    public let id: UUID

    /// The place of a record.
    ///
    /// - Parameters:
    ///   - start: when it began.
    ///   - id: its own.
    public init(start: Date, id: UUID) {
        self.start = start.wholeMilliseconds
        self.id = id
    }

    /// The place of a record.
    public init(of record: TimeRecord) { self.init(start: record.start, id: record.id) }
}
