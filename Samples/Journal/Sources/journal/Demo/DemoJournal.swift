import Foundation
import JournalStorage

/// A made-up journal: some years of work and walks, told back from a day on.
struct DemoJournal: Sendable {
    let tags: [Tag]
    private let made: [(record: TimeRecord, pictures: [DemoPicture])]

    private static let colors = ["#3a7bd5", "#2e8b57", "#c0392b", "#8e44ad", "#d68910", "#16a085"]
    private static let names = ["Work", "Garden", "Walk", "Reading", "Family", "Music"]
    private static let comments = [
        "Wrote the weekly report", "Planted beans 🌱", "Along the river, past the old mill", "Two chapters",
        "Breakfast with everyone ☕️", "Scales, and the slow movement", "Mended the fence", "Letters and calls",
        "Überfällige Rechnungen", "散歩、雨のち晴れ", "Fixed the bicycle\nand rode it to the lake",
    ]

    /// - Parameters:
    ///   - records: how many records; the newest one runs.
    ///   - pictures: how many pictures, up to three to a record as long as that is enough.
    ///   - seed: gives the same journal again.
    ///   - until: when the newest record started.
    init(records: Int, pictures: Int, seed: UInt64, until: Date, timeZone: TimeZone) {
        var random = SeededGenerator(seed: seed)
        let tags = zip(Self.names, Self.colors).map { Tag(id: random.id(), name: $0, color: $1) }
        self.tags = tags
        var made: [(record: TimeRecord, pictures: [DemoPicture])] = []
        var (start, left) = (until, pictures)
        for number in 0..<records {
            let seconds = Double(Int.random(in: 5...180, using: &random) * 60)
            let chosen = tags.shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random))
            let record = TimeRecord(
                id: random.id(), start: start, end: number == 0 ? nil : start.addingTimeInterval(seconds),
                timeZone: timeZone, comment: Self.comments.randomElement(using: &random) ?? "", tags: chosen.map(\.id))
            let share = (left + records - number - 1) / (records - number)
            let count = min(left, max(share, Int.random(in: 0...3, using: &random)))
            left -= count
            made.append((record, (0..<count).map { _ in DemoPicture(seed: random.next()) }))
            // Before it come a pause and a record that ends then.
            start -= Double(Int.random(in: 200...480, using: &random) * 60)
        }
        self.made = made
    }

    /// - Throws: ``FileStorageError``.
    func fill(_ journal: any StreamingFileStorageService) async throws {
        let present = try await journal.loadTags()
        let ids = Set(tags.map(\.id))
        try await journal.saveTags(present.filter { !ids.contains($0.id) } + tags)
        for (record, pictures) in made {
            try await journal.saveRecord(record)
            for (index, picture) in pictures.enumerated() {
                guard let name = ImageName(recordID: record.id, index: index, fileExtension: "png") else { continue }
                try await journal.saveImage(from: picture, for: record, filename: name.description)
            }
        }
    }
}

/// SplitMix64 (https://prng.di.unimi.it/splitmix64.c): numbers that are the same for the same seed.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// UUID version 4 (RFC 9562, section 5.4).
    mutating func id() -> UUID {
        var bytes = [next(), next()].flatMap { number in withUnsafeBytes(of: number.bigEndian, Array.init) }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
