import Foundation
import JournalStorage
import Testing

@Suite("Concurrent access", .timeLimit(.minutes(10)))
struct ConcurrencyTests {
    @Test("Records that are saved concurrently are all stored", arguments: Implementation.allCases)
    func saves(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let records = try (0..<60).map { number in
                TimeRecord(start: try instant("2026-03-01T10:00:00Z").addingTimeInterval(Double(number) * 86_400))
            }
            try await withThrowingTaskGroup { group in
                for record in records { group.addTask { try await subject.journal.saveRecord(record) } }
                try await group.waitForAll()
            }
            #expect(try await subject.journal.loadAllRecords() == records)
        }
    }

    @Test("Concurrent updates of a record leave one complete version", arguments: Implementation.allCases)
    func updates(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            let versions = (0..<30).map { number in
                var version = record
                version.start += Double(number) * 20 * 86_400
                version.comment = "\(number)"
                return version
            }
            try await withThrowingTaskGroup { group in
                for version in versions { group.addTask { try await subject.journal.updateRecord(version) } }
                try await group.waitForAll()
            }
            let stored = try await subject.journal.loadAllRecords()
            #expect(stored.count == 1 && versions.contains(stored[0]))
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }

    @Test("Concurrent reads return complete records only", arguments: Implementation.allCases)
    func reads(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        var version = record
                        version.start += Double(number) * 20 * 86_400
                        try await subject.journal.updateRecord(version)
                        try await subject.journal.saveImage(
                            bytes(2_000), for: version, filename: record.image(number))
                    }
                    group.addTask {
                        let all = try await subject.journal.loadAllRecords()
                        #expect(all.map(\.id) == [record.id])
                        for name in all.flatMap(\.images) {
                            #expect(try await subject.journal.loadImage(filename: name, for: all[0]) == bytes(2_000))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await subject.journal.loadRecord(record.id).images.count == 20)
        }
    }

    @Test("A record that is deleted during a picture upload leaves no picture", arguments: Implementation.allCases)
    func deletion(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            let chunks = GatedChunks(bytes(10_000))
            let saving = Task {
                try await subject.journal.saveImage(from: chunks, for: record, filename: record.image(0))
            }
            await chunks.waitForReader()
            try await subject.journal.deleteRecord(record)
            chunks.open()
            await #expect(throws: FileStorageError.fileNotFound(name: record.name)) { try await saving.value }
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }
}
