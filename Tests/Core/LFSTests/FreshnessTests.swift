import Foundation
import GRDB
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

@Suite("Freshness of waiting jobs", .timeLimit(.minutes(10)))
struct FreshnessTests {
    @Test(
        "A job is compared with its row when another process may have changed the row",
        arguments: [
            "DELETE FROM lfs_file", "UPDATE lfs_job SET state = 'cancelled'",
        ], [500, 1_500, -10])
    func otherProcess(_ change: String, milliseconds: Int) async throws {
        let time = TestTime(Date().addingTimeInterval(3_600))
        try await withHost { host in
            var options = host.options
            options.wallClock = { time.now }
            try await withManager(host, options: options, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                let job = try #require(try await lfs.journal.page(.small, limit: 1, excluding: []).jobs.first)
                // A write by a separate connection does not notify this process.
                let other = try host.otherDatabase()
                try await other.write { try $0.execute(sql: change) }
                time.now.addTimeInterval(Double(milliseconds) / 1_000)
                let isSkipped: Bool
                if case .skip = try await lfs.journal.check(job) { isSkipped = true } else { isSkipped = false }
                #expect(isSkipped == !(0...1_000).contains(milliseconds))
                try other.close()
            }
        }
    }
}
