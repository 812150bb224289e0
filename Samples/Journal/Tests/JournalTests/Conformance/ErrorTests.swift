import Foundation
import GRDB
import JournalStorage
import Testing

@Suite("Errors", .timeLimit(.minutes(10)))
struct ErrorTests {
    /// Checks that the body throws an error of a kind, and that its message is a sentence.
    private func expect(
        _ kind: String, _ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: FileStorageError.self, sourceLocation: sourceLocation) { try await body() }
        guard let error else { return }
        #expect(Mirror(reflecting: error).children.first?.label == kind, "\(error)", sourceLocation: sourceLocation)
        let sentence = error.localizedDescription
        #expect(sentence.hasSuffix(".") && sentence.count > 20, "\(sentence)", sourceLocation: sourceLocation)
        #expect(!sentence.contains("Error Domain"), "\(sentence)", sourceLocation: sourceLocation)
    }

    @Test("A folder that cannot be created is directoryCreationFailed", arguments: Implementation.allCases)
    func directoryCreationFailed(_ implementation: Implementation) async throws {
        try await withFolder { folder in
            try Data("a file".utf8).write(to: folder.appending(path: "blocked"))
            await expect("directoryCreationFailed") {
                let subject = try await Subject.open(implementation, in: folder.appending(path: "blocked/below"))
                try await subject.journal.saveRecord(try record("2026-03-01T10:00:00Z"))
            }
        }
    }

    @Test("Tags and records that cannot be written are fileWriteFailed", arguments: Implementation.allCases)
    func fileWriteFailed(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.breakWriting(of: record)
            await expect("fileWriteFailed") { try await subject.journal.saveRecord(record) }
            #expect(try await subject.reloaded(record.id) == nil)
        }
        try await withJournal(implementation) { subject in
            try await subject.breakTagWriting()
            await expect("fileWriteFailed") { try await subject.journal.saveTags([Tag(name: "Work")]) }
        }
    }

    @Test("Tags and records that cannot be read are fileReadFailed", arguments: Implementation.allCases)
    func fileReadFailed(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            try await subject.journal.saveTags([])
            try await subject.breakReading()
            await expect("fileReadFailed") { _ = try await subject.journal.loadTags() }
            await expect("fileReadFailed") { _ = try await subject.journal.loadAllRecords() }
            await expect("fileReadFailed") { _ = try await subject.journal.loadRunningRecords() }
            await expect("fileReadFailed") { _ = try await subject.journal.loadRecords(from: .distantPast, to: Date()) }
            await expect("fileReadFailed") { _ = try await subject.journal.damagedRecords() }
        }
    }

    @Test("A missing record is fileNotFound", arguments: Implementation.allCases)
    func fileNotFound(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            await expect("fileNotFound") { try await subject.journal.updateRecord(record) }
            await expect("fileNotFound") { try await subject.journal.deleteRecord(record) }
            await expect("fileNotFound") { _ = try await subject.journal.loadRecord(record.id) }
            await expect("fileNotFound") {
                try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(0))
            }
            await expect("fileNotFound") {
                _ = try await subject.journal.addImage(from: chunks(bytes(1)), for: record, fileExtension: "jpg")
            }
            #expect(try await subject.journal.loadAllRecords() == [])
        }
    }

    @Test("A stored record that cannot be decoded is decodingFailed", arguments: Implementation.allCases)
    func decodingFailed(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            try await subject.corrupt(record)
            await expect("decodingFailed") { _ = try await subject.journal.loadRecord(record.id) }
            await expect("decodingFailed") { try await subject.journal.saveRecord(record) }
            await expect("decodingFailed") {
                try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(0))
            }
        }
    }

    @Test("An inconsistent record is encodingFailed, and is not stored", arguments: Implementation.allCases)
    func encodingFailed(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let good = try record("2026-03-01T10:00:00Z")
            var bad = (0..<7).map { _ in good }
            bad[0].end = good.start.addingTimeInterval(-0.001)
            bad[1].start = Date(timeIntervalSince1970: .infinity)
            bad[2].start = Date(timeIntervalSince1970: .nan)
            bad[3].end = Date(timeIntervalSince1970: 253_402_300_800)
            bad[4].tags = [UUID(), UUID()]
            bad[4].tags += bad[4].tags
            bad[5].images = [good.image(0), good.image(0)]
            bad[6].start = .distantPast.addingTimeInterval(-1_000_000)
            for record in bad {
                await expect("encodingFailed") { try await subject.journal.saveRecord(record) }
                await expect("encodingFailed") { try await subject.journal.updateRecord(record) }
            }
            #expect(try await subject.journal.loadAllRecords() == [])
        }
    }

    @Test(
        "A picture that cannot be written is imageWriteFailed, and is not stored",
        arguments: Implementation.allCases)
    func imageWriteFailed(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            try await subject.breakImageWriting(record.image(0), of: record)
            await expect("imageWriteFailed") {
                try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(0))
            }
            await expect("imageWriteFailed") {
                try await subject.journal.saveImage(from: chunks(bytes(1)), for: record, filename: record.image(0))
            }
            await expect("imageWriteFailed") {
                _ = try await subject.journal.addImage(from: chunks(bytes(1)), for: record, fileExtension: "../x")
            }
            #expect(try await subject.journal.loadRecord(record.id).images == [])
        }
    }

    @Test("A picture that is missing or has lost its bytes is imageNotFound", arguments: Implementation.allCases)
    func imageNotFound(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            await expect("imageNotFound") {
                _ = try await subject.journal.loadImage(filename: record.image(0), for: record)
            }
            try await subject.journal.saveRecord(record)
            await expect("imageNotFound") {
                _ = try await subject.journal.imageChunks(filename: record.image(0), for: record)
            }
            await expect("imageNotFound") {
                try await subject.journal.deleteImage(filename: record.image(0), for: record)
            }
            try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(0))
            try await subject.loseImage(record.image(0), of: record)
            await expect("imageNotFound") {
                _ = try await subject.journal.loadImage(filename: record.image(0), for: record)
            }
            await expect("imageNotFound") {
                _ = try await subject.journal.imageChunks(filename: record.image(0), for: record)
            }
        }
    }

    @Test("A failure keeps the error that caused it", arguments: Implementation.allCases)
    func underlying(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            let missing = await #expect(throws: FileStorageError.self) {
                try await subject.journal.updateRecord(record)
            }
            #expect(missing != nil && missing?.underlyingError == nil)
            try await subject.journal.saveTags([])
            try await subject.breakReading()
            let error = await #expect(throws: FileStorageError.self) { _ = try await subject.journal.loadTags() }
            let cause = try #require(error?.underlyingError)
            if implementation == .database { #expect(cause is DatabaseError) }
            guard case .fileReadFailed(let name, let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect("\(error as Any)".contains(reason.description))
            // Equal texts make equal errors.
            #expect(error == .fileReadFailed(name: name, reason: "\(reason)"))
        }
    }

    @Test("An error message contains no control characters of a name")
    func shown() {
        let error = FileStorageError.imageNotFound(name: "a\u{1b}[31m\u{202e}b\n", reason: "none")
        #expect(!"\(error)".unicodeScalars.contains { $0.value < 32 || $0.value == 0x202e })
    }
}
