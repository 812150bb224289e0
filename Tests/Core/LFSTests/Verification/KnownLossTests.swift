import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@Suite("Known losses", .timeLimit(.minutes(10)))
struct KnownLossTests {
    @Test("A loss stays known until the storage proves otherwise")
    func wrongObject() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            // This storage reports no checksums, so only a download shows that the object has other bytes.
            var options = checked.options
            options.storage = checked.storage.directory
            let opening = options
            try checked.plant(someBytes(), at: checked.object(file))
            try checked.plant(someBytes(), at: checked.local(file.id))
            for round in 1...3 {
                try await withManager(checked.host, options: opening, starts: false) { lfs in
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

    @Test("A known loss ends when the right object is back and verified", arguments: [true, false])
    func rightObject(tellsChecksum: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            var options = checked.options
            if !tellsChecksum { options.storage = checked.storage.directory }
            let opening = options
            for url in [checked.object(file), checked.local(file.id)] { try checked.plant(nil, at: url) }
            try await withManager(checked.host, options: opening, starts: false) { lfs in
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

    @Test("A known loss ends when the right bytes are restored locally and uploaded")
    func rightBytesHere() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            var options = checked.options
            options.storage = checked.storage.directory
            let opening = options
            try checked.plant(someBytes(), at: checked.object(file))
            try checked.plant(nil, at: checked.local(file.id))
            try await withManager(checked.host, options: opening) { lfs in
                // The object has the right size and other content, which only a download detects.
                await #expect(errorCode { _ = try await read(file, lfs: lfs) } == .sourceChanged)
                try await checked.host.database.write { db in
                    try db.execute(sql: "UPDATE lfs_job SET errorCode = 'lost' WHERE fileID = ?", arguments: [file.id])
                }
                try checked.plant(bytes, at: checked.local(file.id))
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(Told.init) == [Told(.corruptedRemotely, id: file.id, repair: .upload)])
                #expect(report.isClean && report.lostBytes == 0)
                try await lfs.waitForUploads()
                try #expect(checked.host.count("lfs_job") == 0)
                #expect(try [UInt8](Data(contentsOf: checked.object(file))) == bytes)
            }
        }
    }

    @Test("A known loss ends when the right bytes are read")
    func download() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            for url in [checked.object(file), checked.local(file.id)] { try checked.plant(nil, at: url) }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
                try #expect(checked.host.count("lfs_job WHERE errorCode = 'lost'") == 1)
                try checked.plant(bytes, at: checked.object(file))
                try await #expect(read(file, lfs: lfs) == bytes)
                try #expect(checked.host.count("lfs_job") == 0)
                try await lfs.evict(file.id)
                try #expect(!checked.host.filesInStore().contains(file.id))
            }
        }
    }
}
