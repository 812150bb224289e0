public import Foundation

/// A stretch of time that somebody wrote down: when it was, what it was, and pictures of it.
///
/// Start and end are instants, the same everywhere in the world: no change of the clocks and no journey makes a record
/// longer or shorter. ``timeZone`` only tells which clock hung on the wall.
public struct TimeRecord: Codable, Hashable, Sendable, Identifiable {
    /// What it is stored under, in lowercase.
    public var id: UUID
    /// When it began, to the millisecond.
    public var start: Date {
        didSet { start = start.wholeMilliseconds }
    }
    /// When it ended, to the millisecond; nil while it runs. Not before the start.
    public var end: Date? {
        didSet { end = end?.wholeMilliseconds }
    }
    /// The zone that it was made in, such as `Europe/Berlin`: in it the record's day is told.
    public var timeZone: String
    /// What it was: any text, also a long one.
    public var comment: String
    /// The ids of its tags, each at most once, in the order to show. A tag that is no longer listed stays here.
    public var tags: [UUID]
    /// The names of its pictures, in the order to show. File names only, as ``ImageName`` makes them.
    ///
    /// A stored record names those pictures that the storage has; see ``FileStorageService``.
    public var images: [String]

    /// A record, its times rounded to the millisecond.
    ///
    /// - Parameters:
    ///   - id: its own.
    ///   - start: when it began.
    ///   - end: when it ended; nil while it runs.
    ///   - timeZone: where it was made; the one of this device if none is given.
    ///   - comment: what it was.
    ///   - tags: the ids of its tags.
    ///   - images: the names of its pictures.
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

    /// ``timeZone`` with its clocks; GMT when nobody knows it.
    public var zone: TimeZone { TimeZone(identifier: timeZone) ?? .gmt }

    /// Whether it has no end yet.
    public var isRunning: Bool { end == nil }

    /// How long it took, or has taken until now if it runs. Never less than zero, whatever a clock was set to.
    public func duration(until now: Date) -> TimeInterval { max(0, (end ?? now).timeIntervalSince(start)) }

    /// How much of it lies in an interval, in seconds: what a day's sum adds up.
    ///
    /// - Parameters:
    ///   - interval: the day, or any other one.
    ///   - now: where a record ends that runs.
    public func duration(in interval: DateInterval, until now: Date) -> TimeInterval {
        max(0, min(end ?? now, interval.end).timeIntervalSince(max(start, interval.start)))
    }

    /// Whether it belongs to the range `from ..< to`: whether a part of it lies there.
    ///
    /// A record that ends when the range begins does not, nor does one that begins when the range ends. One that runs
    /// reaches into every range that ends after its start, since nobody knows its end. One without a length belongs
    /// where its start is. A range that ends before it begins, or where it begins, is empty.
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

    /// Reads the form of a record's file, also as a person writes it: what may be missing is the end, the zone, the
    /// comment, tags and images, and times may have another offset than `Z`.
    ///
    /// - Throws: `DecodingError` for anything else.
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

    /// Writes the form of a record's file: ids in lowercase, times as `2026-03-29T01:30:00.000Z`.
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

/// The order of every list of records: by start, and by id where that is the same.
func isBefore(_ one: TimeRecord, _ other: TimeRecord) -> Bool {
    one.start == other.start ? one.id.text < other.id.text : one.start < other.start
}
