import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@Suite("A loss that was noted", .timeLimit(.minutes(10)))
struct KnownLossTests {
    @Test("stays one as long as the storage does not prove the contrary")
    func wrongObject() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            // It tells no checksum, so only a download shows that the object is another one.
            var options = checked.options
            options.storage = checked.storage.directory
            let opening = options
            try checked.plant(someBytes(), at: checked.object(file))
            try checked.plant(someBytes(), at: checked.local(file.id))
            for round in 1...3 {
                try await withManager(checked.host, opening, starts: false) { lfs in
                    let (report, findings) = try await checked.verify(lfs, repairs: true)
                    let told = try #require(findings.first { $0.kind != .quarantined })
                    #expect(told.repair == .fetch && told.outcome == .noted && told.isLoss, "\(round)")
                    #expect(told.isKnown == (round > 1))
                    #expect(report.lostBytes == 1_000 && report.isClean == (round > 1), "\(round)")
                    try #expect(checked.host.count("lfs_job WHERE errorCode = 'lost'") == 1)
                    let (looked, _) = try await checked.verify(lfs)
                    #expect(looked.lostBytes == 1_000 && looked.isClean, "\(round)")
                }
            }
        }
    }

    @Test("ends when the right object is back, which a repair fetches to know it", arguments: [true, false])
    func rightObject(tellsChecksum: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            var options = checked.options
            if !tellsChecksum { options.storage = checked.storage.directory }
            let opening = options
            for url in [checked.object(file), checked.local(file.id)] { try checked.plant(nil, at: url) }
            try await withManager(checked.host, opening, starts: false) { lfs in
                try await #expect(checked.verify(lfs, repairs: true).report.lostBytes == 1_000)
                try checked.plant(bytes, at: checked.object(file))
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.repair) == [tellsChecksum ? .clear : .fetch])
                #expect(findings.map(\.outcome) == [.repaired])
                #expect(report.isClean && report.lostBytes == 0)
                try #expect(checked.host.count("lfs_job") == 0)
                try #expect(checked.host.filesInStore().contains(file.id) == !tellsChecksum)
            }
        }
    }

    @Test("ends when the right bytes are put back here, which are uploaded over an object that proves nothing")
    func rightBytesHere() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            var options = checked.options
            options.storage = checked.storage.directory
            let opening = options
            try checked.plant(someBytes(), at: checked.object(file))
            try checked.plant(nil, at: checked.local(file.id))
            try await withManager(checked.host, opening) { lfs in
                // Whole bytes of another content: somebody has to read them to find out.
                await #expect(errorCode { _ = try await read(file, lfs) } == .sourceChanged)
                try await checked.host.database.write { db in
                    try db.execute(sql: "UPDATE lfs_job SET errorCode = 'lost' WHERE fileID = ?", arguments: [file.id])
                }
                try checked.plant(bytes, at: checked.local(file.id))
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(Told.init) == [Told(.corruptedRemotely, file.id, .upload)])
                #expect(report.isClean && report.lostBytes == 0)
                try await lfs.waitForUploads()
                try #expect(checked.host.count("lfs_job") == 0)
                #expect(try [UInt8](Data(contentsOf: checked.object(file))) == bytes)
            }
        }
    }

    @Test("ends when somebody reads the right bytes, and then the local copy may go")
    func download() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            for url in [checked.object(file), checked.local(file.id)] { try checked.plant(nil, at: url) }
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
                try #expect(checked.host.count("lfs_job WHERE errorCode = 'lost'") == 1)
                try checked.plant(bytes, at: checked.object(file))
                try await #expect(read(file, lfs) == bytes)
                try #expect(checked.host.count("lfs_job") == 0)
                try await lfs.evict(file.id)
                try #expect(!checked.host.filesInStore().contains(file.id))
            }
        }
    }
}
