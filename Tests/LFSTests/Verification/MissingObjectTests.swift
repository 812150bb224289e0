import Foundation
import GRDB
import LFS
import Testing

@Suite("An object that a verification without repairs does not find right", .timeLimit(.minutes(10)))
struct MissingObjectTests {
    private func isFree(_ file: FileData, _ lfs: LFSManager) async throws -> Bool {
        guard await errorCode({ try await lfs.evict(file.id) }) != .notUploaded else { return false }
        return try await !lfs.hasLocalCopy(of: file.id)
    }

    @Test("keeps the right bytes that are here, whatever frees others, and a retry uploads them")
    func keeps() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(3)
            try await withManager(checked.host, checked.options) { lfs in
                try checked.plant(nil, at: checked.object(files[1]))
                for _ in 1...2 {
                    let (report, findings) = try await checked.verify(lfs)
                    #expect(Set(findings.map(Told.init)) == [Told(.missingRemotely, files[1].id, .upload)])
                    #expect(report.lostBytes == 0)
                }
                #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 2)
                #expect(try await !isFree(files[1], lfs))
                #expect(try await lfs.retry() == 1)
                try await lfs.waitForUploads()
                #expect(FileManager.default.fileExists(atPath: checked.object(files[1]).path))
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await isFree(files[1], lfs))
            }
        }
    }

    @Test("keeps them until it is mended, when it has other bytes", arguments: [999, 1_000])
    func damaged(byteCount: Int) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, checked.options) { lfs in
                try checked.plant(someBytes(byteCount), at: checked.object(files[1]))
                #expect(try await checked.verify(lfs).findings.map(\.repair) == [.upload])
                #expect(try await !isFree(files[1], lfs))
                #expect(try await checked.verify(lfs, repairs: true).findings.map(\.repair) == [.upload])
                try await lfs.waitForUploads()
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await isFree(files[1], lfs))
            }
        }
    }

    @Test("is right again when somebody puts it back", arguments: ["verify", "retry", "readBack"])
    func putBack(then: String) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, checked.options) { lfs in
                let bytes = try [UInt8](Data(contentsOf: checked.object(files[1])))
                try checked.plant(nil, at: checked.object(files[1]))
                #expect(try await checked.verify(lfs).findings.count == 1)
                try checked.plant(bytes, at: checked.object(files[1]))
                let (report, findings) = try await checked.verify(lfs)
                #expect(findings.map(Told.init) == [Told(.uploadStuck, files[1].id, .clear)])
                #expect(report.lostBytes == 0)
                switch then {
                case "verify": #expect(try await checked.verify(lfs, repairs: true).report.isClean)
                case "retry": #expect(try await lfs.retry() == 1)
                default: _ = try await lfs.readBack([files[1].id])
                }
                try await lfs.waitForUploads()
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await isFree(files[1], lfs))
                #expect(try [UInt8](Data(contentsOf: checked.object(files[1]))) == bytes)
            }
        }
    }

    @Test("is noted for no file that was deleted meanwhile, and the note goes with the row")
    func deleted() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, checked.options) { lfs in
                try checked.plant(nil, at: checked.object(files[1]))
                #expect(try await checked.verify(lfs).findings.count == 1)
                _ = try await checked.host.database.write { try files[1].delete($0) }
                try await lfs.waitForDeletions()
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await lfs.retry() == 0)
            }
        }
    }
}
