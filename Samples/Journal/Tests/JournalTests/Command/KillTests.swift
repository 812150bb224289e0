import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Testing
import WriterScript

@Suite("Kills at random moments", .serialized, .timeLimit(.minutes(10)))
struct KillTests {
    /// The number of kills per implementation. `JOURNAL_KILLS` sets another number.
    private static let kills = Int(ProcessInfo.processInfo.environment["JOURNAL_KILLS"] ?? "") ?? 60

    @Test(
        "After a kill, every confirmed write is complete, and no write is partial", arguments: Implementation.allCases)
    func kill(_ implementation: Implementation) async throws {
        var total = 0
        for round in 0..<Self.kills {
            try await withFolder { folder in
                let seed = UInt64.random(in: 0...UInt64.max)
                let through = try await write(implementation, seed: seed, in: folder)
                total += through
                try await check(
                    implementation, seed: seed, through: through, in: folder,
                    round: "round \(round), seed \(seed), after \(through)")
            }
        }
        #expect(total > Self.kills * 10, "The kills came too early to show anything: \(total) writes were through.")
        print("\(implementation.rawValue): \(Self.kills) kills, \(total) writes through, 0 may be missing")
    }

    /// Starts a process that writes, kills it, and returns the number of confirmed writes.
    private func write(_ implementation: Implementation, seed: UInt64, in folder: URL) async throws -> Int {
        try await blocking {
            let arguments = [implementation.rawValue, folder.path, "\(seed)"]
            let child = try ChildProcess("journal-writer", arguments: arguments, in: folder)
            let pipe = child.output.fileHandleForReading
            var through = 0
            let wanted = Int.random(in: 1...120)
            while through < wanted {
                let told = pipe.availableData
                if told.isEmpty { break }
                through += told.count
            }
            // The kill comes during one of the next writes. This busy loop of up to 6 ms waits for no event.
            let moment = ContinuousClock.now.advanced(by: .microseconds(Int.random(in: 0...6_000)))
            while ContinuousClock.now < moment {}
            Foundation.kill(child.process.processIdentifier, SIGKILL)
            through += try pipe.readToEnd()?.count ?? 0
            let ended = try child.wait()
            #expect(ended.status == 128 + SIGKILL, "The writer ended by itself: \(ended.messages)")
            return through
        }
    }

    private func check(
        _ implementation: Implementation, seed: UInt64, through: Int, in folder: URL, round: String
    ) async throws {
        var script = WriterScript(seed: seed)
        for _ in 0..<through { _ = script.next() }
        let before = script.state
        _ = script.next()
        switch implementation {
        case .folder:
            let journal = LocalFileStorageService(folder: folder.appending(path: "journal"))
            try await compare(journal, before: before, after: script.state, round: round)
            let left = try FileManager.default.contentsOfDirectory(
                atPath: journal.folder.appending(path: ".temporary").path)
            #expect(left.isEmpty, "\(round): \(left)")
        case .database:
            let storage = try DirectoryStorage(at: folder.appending(path: "remote"))
            let journal = try await DatabaseStorageService.open(
                at: folder.appending(path: "journal.sqlite"), options: LFSOptions(storage: storage))
            try await compare(journal, before: before, after: script.state, round: round)
            try journal.lfs.start()
            try await journal.lfs.waitForUploads()
            _ = try await journal.lfs.waitForDeletions()
            var options = VerifyOptions()
            options.checksContent = true
            let report = try await journal.lfs.verify(options)
            #expect(report.left == 0 && report.known == 0, "\(round): \(report)")
            let integrity = try await journal.database.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
            #expect(integrity == ["ok"], "\(round)")
            try await journal.close()
        }
    }

    /// Compares the journal with both states. The write in progress may be stored or not, all confirmed writes must be.
    private func compare(
        _ journal: some StreamingFileStorageService, before: WriterScript.State, after: WriterScript.State,
        round: String
    ) async throws {
        let found = try await WriterScript.State(of: journal)
        #expect(found == before || found == after, "\(round): \(found.difference(from: before))")
        #expect(try await journal.damagedRecords() == [], "\(round)")
    }
}

extension WriterScript.State {
    fileprivate func difference(from other: Self) -> String {
        let ids = Set(records.keys).union(other.records.keys).filter { records[$0] != other.records[$0] }
        let names = Set(images.keys).union(other.images.keys).filter { images[$0] != other.images[$0] }
        return "records \(ids), pictures \(names)\(tags == other.tags ? "" : ", tags")"
    }
}
