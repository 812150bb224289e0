import Foundation
import JournalStorage

/// A generated journal: some years of work and walks before a given day.
struct DemoJournal: Sendable {
    let tags: [Tag]
    /// The records with the seeds of their pictures.
    private let made: [(record: TimeRecord, seeds: [UInt64])]

    private static let colors = ["#3a7bd5", "#2e8b57", "#c0392b", "#8e44ad", "#d68910", "#16a085"]
    private static let names = ["Work", "Garden", "Walk", "Reading", "Family", "Music"]
    private static let comments = [
        "Wrote the weekly report", "Planted beans 🌱", "Along the river, past the old mill", "Two chapters",
        "Breakfast with everyone ☕️", "Scales, and the slow movement", "Mended the fence", "Letters and calls",
        "Überfällige Rechnungen", "散歩、雨のち晴れ", "Fixed the bicycle\nand rode it to the lake",
    ]

    /// - Parameters:
    ///   - records: The number of records. The newest one is running.
    ///   - pictures: The number of pictures: up to three for a record, or more if that is not enough.
    ///   - seed: The seed. The same seed produces the same journal.
    ///   - until: The start of the newest record.
    init(records: Int, pictures: Int, seed: UInt64, until: Date, timeZone: TimeZone) {
        var random = SeededGenerator(seed: seed)
        let tags = zip(Self.names, Self.colors).map { Tag(id: random.id(), name: $0, color: $1) }
        self.tags = tags
        var made: [(record: TimeRecord, seeds: [UInt64])] = []
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
            made.append((record, (0..<count).map { _ in random.next() }))
            // The preceding record ends before a pause.
            start -= Double(Int.random(in: 200...480, using: &random) * 60)
        }
        self.made = made
    }

    /// Adds the tags, and the records with their pictures, as many records at the same time as there are processors.
    ///
    /// - Parameter isPhotographic: Indicates that the pictures are photographs and not small drawings, if libvips is
    ///   installed.
    /// - Throws: ``FileStorageError``, ``DemoPhoto/Failure``.
    func fill(_ journal: any StreamingFileStorageService, isPhotographic: Bool = false) async throws {
        let makesPhotos = isPhotographic && DemoPhoto.isAvailable
        try await addTags(to: journal)
        try await withThrowingTaskGroup(of: Void.self) { group in
            var number = 0
            for (index, (record, seeds)) in made.enumerated() {
                if index >= ProcessInfo.processInfo.activeProcessorCount { try await group.next() }
                let first = makesPhotos ? number : nil
                group.addTask { try await Self.add(record, with: seeds, firstPhoto: first, to: journal) }
                number += seeds.count
            }
            try await group.waitForAll()
        }
    }

    /// - Parameter firstPhoto: The number of the record's first photograph. Nil for drawings.
    private static func add(
        _ record: TimeRecord, with seeds: [UInt64], firstPhoto: Int?, to journal: any StreamingFileStorageService
    ) async throws {
        try await journal.saveRecord(record)
        for (index, seed) in seeds.enumerated() {
            let type = firstPhoto == nil ? "png" : "jpg"
            guard let name = ImageName(recordID: record.id, index: index, fileExtension: type) else { continue }
            let photo = firstPhoto.map { first in
                DemoPhoto(
                    seed: seed, number: first + index, date: record.start + Double(index), timeZone: record.zone)
            }
            let data = try await photo?.jpeg() ?? DemoScene(seed: seed).png()
            try await journal.saveImage(data, for: record, filename: name.description)
        }
    }

    private func addTags(to journal: any StreamingFileStorageService) async throws {
        let present = try await journal.loadTags()
        let ids = Set(tags.map(\.id))
        try await journal.saveTags(present.filter { !ids.contains($0.id) } + tags)
    }
}

/// The generator SplitMix64 (https://prng.di.unimi.it/splitmix64.c), whose numbers are the same for the same seed.
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

    /// Returns a UUID of version 4 (RFC 9562, section 5.4).
    mutating func id() -> UUID {
        var bytes = [next(), next()].flatMap { number in withUnsafeBytes(of: number.bigEndian, Array.init) }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
