public import Foundation
public import JournalStorage

/// The steps of a process that is killed. They depend only on the seed, so a test can predict each of them.
public struct WriterScript: Sendable {
    /// The content of a journal after some steps.
    public struct State: Hashable, Sendable {
        public var tags: [Tag] = []
        public var records: [UUID: TimeRecord] = [:]
        public var images: [String: Data] = [:]

        public init() {}
    }

    /// A call to a journal.
    public enum Step: Sendable {
        case tags([Tag])
        case save(TimeRecord)
        case update(TimeRecord)
        case delete(TimeRecord)
        case saveImage(String, TimeRecord, Data)
        case deleteImage(String, TimeRecord)
    }

    public private(set) var state = State()
    private var random: Random
    private static let firstStart = Date(timeIntervalSince1970: 1_750_000_000)

    public init(seed: UInt64) { random = Random(state: seed) }

    /// Returns the next step and applies it to the state.
    public mutating func next() -> Step {
        let records = state.records.values.sorted { $0.id.uuidString < $1.id.uuidString }
        let step = step(records.randomElement(using: &random), count: records.count)
        apply(step)
        return step
    }

    private mutating func step(_ record: TimeRecord?, count: Int) -> Step {
        guard let record, count > 3 || Bool.random(using: &random) else { return .save(newRecord()) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            return .tags((0..<Int.random(in: 0...4, using: &random)).map { Tag(id: random.id(), name: "Tag \($0)") })
        case 1...2 where count < 12: return .save(newRecord())
        case 3: return .delete(record)
        case 4:
            if let name = record.images.randomElement(using: &random) { return .deleteImage(name, record) }
            return .save(newRecord())
        case 5...6: return .update(moved(record))
        case 7...8:
            var record = record
            record.comment = String(repeating: "\(random.next()) ", count: Int.random(in: 0...10_000, using: &random))
            record.images.shuffle(using: &random)
            return .update(record)
        default:
            let name = "\(record.id.uuidString.lowercased())_\(Int.random(in: 0..<4, using: &random)).png"
            return .saveImage(name, record, random.bytes(Int.random(in: 0...300_000, using: &random)))
        }
    }

    private mutating func newRecord() -> TimeRecord {
        TimeRecord(id: random.id(), start: Self.firstStart, timeZone: .gmt, comment: "New")
    }

    /// Moves a record to a random month within three years.
    private mutating func moved(_ record: TimeRecord) -> TimeRecord {
        var record = record
        record.start = Self.firstStart.addingTimeInterval(Double(Int.random(in: 0..<36, using: &random)) * 30 * 86_400)
        record.end = Bool.random(using: &random) ? record.start.addingTimeInterval(60) : nil
        return record
    }

    private mutating func apply(_ step: Step) {
        switch step {
        case .tags(let tags): state.tags = tags
        case .save(let record), .update(let record): state.records[record.id] = record
        case .delete(let record):
            state.records[record.id] = nil
            for name in record.images { state.images[name] = nil }
        case .saveImage(let name, let record, let data):
            if state.images.updateValue(data, forKey: name) == nil {
                state.records[record.id]?.images.append(name)
            }
        case .deleteImage(let name, let record):
            state.images[name] = nil
            state.records[record.id]?.images.removeAll { $0 == name }
        }
    }
}

extension WriterScript.Step {
    /// Performs the step on a journal.
    public func perform(on journal: some FileStorageService) async throws {
        switch self {
        case .tags(let tags): try await journal.saveTags(tags)
        case .save(let record): try await journal.saveRecord(record)
        case .update(let record): try await journal.updateRecord(record)
        case .delete(let record): try await journal.deleteRecord(record)
        case .saveImage(let name, let record, let data):
            try await journal.saveImage(data, for: record, filename: name)
        case .deleteImage(let name, let record): try await journal.deleteImage(filename: name, for: record)
        }
    }
}

extension WriterScript.State {
    /// Reads the current content of a journal.
    public init(of journal: some FileStorageService) async throws {
        tags = try await journal.loadTags()
        for record in try await journal.loadAllRecords() {
            records[record.id] = record
            for name in record.images { images[name] = try await journal.loadImage(filename: name, for: record) }
        }
    }
}

/// SplitMix64 (https://prng.di.unimi.it/splitmix64.c).
private struct Random: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    mutating func id() -> UUID {
        let halves = [next(), next()]
        return halves.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Returns cheap bytes, because the killed process should spend its time on writing.
    mutating func bytes(_ count: Int) -> Data {
        Data(repeating: UInt8(truncatingIfNeeded: next()), count: count)
    }
}
