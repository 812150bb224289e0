import Foundation
import GRDB
import JournalStorage
import LFS
import Testing

@testable import JournalWeb

@Suite("The chart of the last hour", .timeLimit(.minutes(10)))
struct UploadActivityTests {
    @Test("Uploads are counted from the database, in the minute of their last change")
    func uploaded() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            for seed in [UInt8(1), 2] {
                #expect(try await web.upload(WebSubject.picture(seed: seed), to: record).status == 201)
            }
            try await web.journal.lfs.waitForUploads()
            let counts = try await web.journal.database.read { db in
                try [0, 30, 61].map { minutes in
                    try UploadActivity(until: Date() + minutes * 60, db).minutes.map(\.uploaded).reduce(0, +)
                }
            }
            #expect(counts == [2, 2, 0])
            #expect(try await web.get("/storage").text.contains("2 files were uploaded in the last hour."))
        }
    }

    @Test("A file in the queue waits from its creation until now")
    func waiting() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            web.journal.lfs.pause()
            #expect(try await web.upload(WebSubject.picture(), to: try await web.record()).status == 201)
            let minutes = try await web.journal.database.read { db in
                try UploadActivity(until: Date() + 10 * 60, db).minutes
            }
            #expect(minutes.suffix(10).allSatisfy { $0.waiting == 1 } && minutes.first?.waiting == 0)
            #expect(minutes.allSatisfy { $0.uploaded == 0 })
        }
    }
}
