public import Foundation

/// A period of time that a person has written down, with a comment and pictures.
///
/// Start and end are instants, the same everywhere in the world: neither a change of the clocks nor a journey changes
/// the length of a record. ``timeZone`` only states the local time zone of the record.
public struct TimeRecord: Codable, Hashable, Sendable, Identifiable {
    /// The record's id, in lowercase when it is stored.
    public var id: UUID
    /// The start, to the millisecond.
    public var start: Date {
        didSet { start = start.wholeMilliseconds }
    }
    /// The end, to the millisecond. Nil while the record is running. The end is not before the start.
    public var end: Date? {
        didSet { end = end?.wholeMilliseconds }
    }
    /// The time zone in which the record was made, such as `Europe/Berlin`. It determines the record's day.
    public var timeZone: String
    /// A text of any length about the period.
    public var comment: String
    /// The ids of the tags, each at most once, in the order in which they are shown. A tag that is no longer listed is
    /// kept here.
    public var tags: [UUID]
    /// The names of the pictures, in the order in which they are shown. They are file names in the form of
    /// ``ImageName``.
    ///
    /// A stored record lists the pictures that the storage has. See ``FileStorageService``.
    public var images: [String]

    /// Creates a record and rounds its times to the millisecond. Its time zone is by default that of this device.
    public init(
        id: UUID = UUID(), start: Date, end: Date? = nil, timeZone: TimeZone = .current, comment: String = "",
        tags: [UUID] = [], images: [String] = []
    ) {
        self.id = id
        self.start = start.wholeMilliseconds
        self.end = end?.wholeMilliseconds
        self.timeZone = timeZone.identifier
        self.comment = comment
        self.tags = tags
        self.images = images
    }

    /// The time zone of ``timeZone``. GMT if its identifier is unknown.
    public var zone: TimeZone { TimeZone(identifier: timeZone) ?? .gmt }

    /// Indicates that the record has no end yet.
    public var isRunning: Bool { end == nil }

    /// Returns the length of the record, up to now if it is running. It is never less than zero, even if a clock was
    /// wrong.
    public func duration(until now: Date) -> TimeInterval { max(0, (end ?? now).timeIntervalSince(start)) }

    /// Returns the length of the part that lies in an interval, in seconds. The sum of a day adds these lengths.
    ///
    /// - Parameters:
    ///   - interval: The day, or any other interval.
    ///   - now: The end of a running record.
    public func duration(in interval: DateInterval, until now: Date) -> TimeInterval {
        max(0, min(end ?? now, interval.end).timeIntervalSince(max(start, interval.start)))
    }

    /// Returns true if a part of the record lies in the range `from ..< to`.
    ///
    /// A record that ends when the range begins is outside, and so is one that begins when the range ends. A running
    /// record reaches into every range that ends after its start, since its end is unknown. A record without a length
    /// lies in the range of its start. A range whose end is not after its beginning is empty.
    public func overlaps(from: Date, to: Date) -> Bool {
        guard from < to, start < to else { return false }
        guard let end else { return true }
        return end > from || start == end && start == from
    }
}

extension TimeRecord {
    enum CodingKeys: String, CodingKey {
        case id, start, end, timeZone, comment, tags, images
    }

    /// Reads the format of a record's file, including files that a person has written: the end, the time zone, the
    /// comment, tags and images may be missing, and times may have another offset than `Z`.
    ///
    /// - Throws: `DecodingError` for any other format.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(UUID.self, forKey: .id)
        start = try values.decode(Timestamp.self, forKey: .start).date
        end = try values.decodeIfPresent(Timestamp.self, forKey: .end)?.date
        timeZone = try values.decodeIfPresent(String.self, forKey: .timeZone) ?? "GMT"
        comment = try values.decodeIfPresent(String.self, forKey: .comment) ?? ""
        tags = try values.decodeIfPresent([UUID].self, forKey: .tags) ?? []
        images = try values.decodeIfPresent([String].self, forKey: .images) ?? []
    }

    /// Writes the format of a record's file: ids in lowercase, times as `2026-03-29T01:30:00.000Z`.
    ///
    /// - Throws: `EncodingError` for a time before the year 1 or after 9999.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id.text, forKey: .id)
        try values.encode(Timestamp(start), forKey: .start)
        try values.encodeIfPresent(end.map(Timestamp.init), forKey: .end)
        try values.encode(timeZone, forKey: .timeZone)
        try values.encode(comment, forKey: .comment)
        try values.encode(tags.map(\.text), forKey: .tags)
        try values.encode(images, forKey: .images)
    }
}

/// Defines the order of every list of records: by start, then by id.
func isBefore(_ one: TimeRecord, other: TimeRecord) -> Bool {
    one.start == other.start ? one.id.text < other.id.text : one.start < other.start
}
