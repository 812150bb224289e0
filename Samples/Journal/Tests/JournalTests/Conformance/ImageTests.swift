import Foundation
import JournalStorage
import Testing

@Suite("Pictures", .timeLimit(.minutes(10)))
struct ImageTests {
    private func withRecord(
        _ implementation: Implementation, _ body: (Subject, TimeRecord) async throws -> Void
    ) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z", end: "2026-03-01T11:00:00Z")
            try await subject.journal.saveRecord(record)
            try await body(subject, record)
        }
    }

    @Test("A saved picture is read back unchanged, and its record lists it", arguments: Implementation.allCases)
    func saved(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            for (index, count) in [0, 1, 700_000].enumerated() {
                try await subject.journal.saveImage(bytes(count), for: record, filename: record.image(index))
            }
            let reopened = try await subject.reopened()
            let names = [record.image(0), record.image(1), record.image(2)]
            #expect(try await reopened.journal.loadRecord(record.id).images == names)
            for (name, count) in zip(names, [0, 1, 700_000]) {
                #expect(try await reopened.journal.loadImage(filename: name, for: record) == bytes(count))
            }
            try await reopened.close()
        }
    }

    @Test("A picture that is saved again replaces the first one", arguments: Implementation.allCases)
    func replaced(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            try await subject.journal.saveImage(bytes(9_000), for: record, filename: record.image(0))
            try await subject.journal.saveImage(bytes(10, seed: 7), for: record, filename: record.image(0))
            #expect(try await subject.journal.loadImage(filename: record.image(0), for: record) == bytes(10, seed: 7))
            #expect(try await subject.journal.loadRecord(record.id).images == [record.image(0)])
        }
    }

    @Test("Deleting a picture keeps the others", arguments: Implementation.allCases)
    func deleted(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            for index in 0..<3 {
                try await subject.journal.saveImage(bytes(100), for: record, filename: record.image(index))
            }
            try await subject.journal.deleteImage(filename: record.image(1), for: record)
            #expect(try await subject.journal.loadRecord(record.id).images == [record.image(0), record.image(2)])
            await #expect(throws: FileStorageError.self) {
                try await subject.journal.loadImage(filename: record.image(1), for: record)
            }
            #expect(try await subject.journal.loadImage(filename: record.image(2), for: record) == bytes(100))
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }

    @Test("An update with a stale record neither removes nor restores pictures", arguments: Implementation.allCases)
    func stale(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            var stale = record
            for index in 0..<2 {
                try await subject.journal.saveImage(bytes(100), for: record, filename: record.image(index))
            }
            stale.comment = "From another window"
            try await subject.journal.updateRecord(stale)
            #expect(try await subject.journal.loadRecord(record.id).images == [record.image(0), record.image(1)])

            stale.images = [record.image(1), record.image(0)]
            try await subject.journal.deleteImage(filename: record.image(0), for: record)
            try await subject.journal.updateRecord(stale)
            let stored = try await subject.journal.loadRecord(record.id)
            #expect(stored.images == [record.image(1)] && stored.comment == "From another window")
        }
    }

    @Test("Pictures have the order of their record", arguments: Implementation.allCases)
    func order(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            var record = record
            for index in 0..<4 {
                try await subject.journal.saveImage(bytes(100), for: record, filename: record.image(index))
            }
            record.images = [3, 1, 0].map { record.image($0) }
            try await subject.journal.updateRecord(record)
            #expect(try await subject.reloaded(record.id)?.images == [3, 1, 0, 2].map { record.image($0) })
        }
    }

    @Test("A picture that is streamed is the same as one that is saved at once", arguments: Implementation.allCases)
    func streamed(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            let data = bytes(600_001)
            try await subject.journal.saveImage(from: chunks(data), for: record, filename: record.image(0))
            #expect(try await subject.journal.loadImage(filename: record.image(0), for: record) == data)
            let stream = try await subject.journal.imageChunks(filename: record.image(0), for: record)
            var largest = 0
            for try await chunk in stream { largest = max(largest, chunk.count) }
            #expect(largest < 300_000, "a chunk of \(largest) bytes")
            #expect(try await joined(stream) == data)
        }
    }

    @Test("A stream continues while its picture is replaced or deleted", arguments: Implementation.allCases)
    func streamedMeanwhile(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            let data = bytes(600_001)
            try await subject.journal.saveImage(data, for: record, filename: record.image(0))
            let stream = try await subject.journal.imageChunks(filename: record.image(0), for: record)
            try await subject.journal.saveImage(bytes(9), for: record, filename: record.image(0))
            #expect(try await joined(stream) == data)
            try await subject.journal.deleteRecord(record)
            #expect(try await joined(stream) == data)
        }
    }

    @Test("A failed stream reports its error and stores no picture", arguments: Implementation.allCases)
    func brokenStream(_ implementation: Implementation) async throws {
        struct LineIsDown: Error {}
        try await withRecord(implementation) { subject, record in
            let (stream, line) = AsyncThrowingStream<Data, any Error>.makeStream()
            line.yield(bytes(10_000))
            line.finish(throwing: LineIsDown())
            await #expect(throws: LineIsDown.self) {
                try await subject.journal.saveImage(from: stream, for: record, filename: record.image(0))
            }
            let stored = try await subject.journal.loadRecord(record.id)
            #expect(stored.images == [])
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }

    @Test("A slow stream does not block other operations", arguments: Implementation.allCases)
    func slowStream(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            let chunks = GatedChunks(bytes(10_000))
            async let slow: Void = subject.journal.saveImage(from: chunks, for: record, filename: record.image(0))
            await chunks.waitForReader()
            try await subject.journal.saveImage(bytes(5), for: record, filename: record.image(1))
            #expect(try await subject.journal.loadRecord(record.id).images == [record.image(1)])
            chunks.open()
            try await slow
            #expect(try await subject.journal.loadRecord(record.id).images == [record.image(1), record.image(0)])
        }
    }

    @Test("Added pictures get distinct names, also concurrently", arguments: Implementation.allCases)
    func added(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(7, fileExtension: "png"))
            let names = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await subject.journal.addImage(
                            from: chunks(bytes(100, seed: UInt8(number))), for: record, fileExtension: "JPG")
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(names) == Set((8..<16).map { record.image($0) }))
            #expect(try await subject.journal.loadRecord(record.id).images.count == 9)
        }
    }

    @Test(
        "The URL of a picture contains its name, or a placeholder if it is invalid", arguments: Implementation.allCases)
    func url(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            let url = subject.journal.imageURL(filename: record.image(0), for: record)
            #expect(url.lastPathComponent == record.image(0))
            for name in BadNames.all(record) {
                let url = subject.journal.imageURL(filename: name, for: record)
                #expect(url.lastPathComponent == "not-a-picture", "\(name)")
            }
        }
    }

    @Test("An invalid picture name is refused", arguments: Implementation.allCases)
    func badNames(_ implementation: Implementation) async throws {
        try await withRecord(implementation) { subject, record in
            let other = try TimeRecord(start: instant("2026-03-01T10:00:00Z"))
            try await subject.journal.saveRecord(other)
            for name in BadNames.all(record) + [other.image(0)] {
                await #expect("\(name)") {
                    try await subject.journal.saveImage(bytes(1), for: record, filename: name)
                } throws: { if case FileStorageError.imageWriteFailed = $0 { true } else { false } }
                for read in [subject.journal.loadImage, Self.deletion(subject)] {
                    await #expect("\(name)") { try await read(name, record) } throws: {
                        if case FileStorageError.imageNotFound = $0 { true } else { false }
                    }
                }
                var naming = record
                naming.images = [name]
                await #expect("\(name)") { try await subject.journal.saveRecord(naming) } throws: {
                    if case FileStorageError.encodingFailed = $0 { true } else { false }
                }
            }
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }

    private static func deletion(_ subject: Subject) -> (String, TimeRecord) async throws -> Data {
        { name, record in
            try await subject.journal.deleteImage(filename: name, for: record)
            return Data()
        }
    }
}

/// Names that are invalid for a picture of a record.
enum BadNames {
    static func all(_ record: TimeRecord) -> [String] {
        let id = record.name
        return [
            "", ".", "..", "/", "\(id)", "\(id).json", "\(id)_0.json", "\(id)_0.JPG", "\(id)_0", "\(id)_0.",
            "\(id)_.jpg",
            "\(id)_-1.jpg", "\(id)_+1.jpg", "\(id)_00.jpg", "\(id)_1000000.jpg", "\(id)_0.jpg/", "\(id)_0.jpg\0",
            "\(id)_0.jpg\n", "../\(id)_0.jpg", "/etc/passwd", "..\\\(id)_0.jpg", "\(id)_0.../x", "\(id)_0.jpg.sh",
            "\(id)_٣.jpg", "\(id)_0.jpég", "\(id.uppercased())_0.jpg", "tags.json", "%2e%2e/\(id)_0.jpg",
            " \(id)_0.jpg",
            "\(id)_0.toolongext", "\(UUID().uuidString.lowercased())_0.jpg",
        ]
    }
}
