import Foundation
import GRDB
import LFS
import TestSupport
import Testing

@Suite("A local file that the disk does not give back", .timeLimit(.minutes(1)))
struct UnreadableTests {
    @Test("is one finding among others, of its own size or another", arguments: [4_096, 1_000])
    func verify(_ byteCount: Int) async throws {
        try await withCheckedHost { checked in
            let others = try await checked.uploaded(3)
            try await withManager(checked.host, checked.options) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes(byteCount)))
                try await checked.host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                try checked.plant(nil, at: checked.object(others[2]))
                _ = try await withUnreadableFile(at: checked.local(file.id)) {
                    for repairs in [false, true] {
                        let (report, findings) = try await checked.verify(lfs, repairs: repairs) {
                            $0.checksContent = true
                        }
                        let ids = Set(findings.map(\.fileID))
                        #expect(ids == [file.id, others[2].id])
                        let found = try #require(findings.first { $0.fileID == file.id })
                        let expected = byteCount == 4_096 ? VerifyFinding.Kind.corruptedLocally : .wrongLengthLocally
                        #expect(found.kind == expected)
                        #expect(found.repair == .fetch)
                        #expect(report.files == 4)
                    }
                }
                try await lfs.waitForUploads()
                try await #expect(checked.verify(lfs) { $0.checksContent = true }.findings.isEmpty)
            }
        }
    }

    @Test("is an error of its kind for who reads it")
    func read() async throws {
        try await withCheckedHost { checked in
            try await withManager(checked.host, checked.options) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes(4_096)))
                try await checked.host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                _ = try await withUnreadableFile(at: checked.local(file.id)) {
                    await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
                    await #expect(throws: LFSError.self) { _ = try await lfs.bytes(of: file, range: 0..<1) }
                    await #expect(throws: LFSError.self) { _ = try await lfs.localURL(of: file) }
                }
            }
        }
    }

    @Test("and cannot be moved leaves nothing of those that were freed with it")
    func free() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(20, byteCount: 4_096, host, lfs)
            let stubborn = host.store.appendingPathComponent(files[7].id.uuidString)
            _ = try await withUnreadableFile(at: stubborn) {
                await #expect(throws: LFSError.self) { _ = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) }
                let incoming = host.store.appendingPathComponent("incoming").path
                try #expect(FileManager.default.contentsOfDirectory(atPath: incoming).isEmpty)
            }
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.staying.files == 0)
            try #expect(host.filesInStore().isEmpty)
        }
    }
}
