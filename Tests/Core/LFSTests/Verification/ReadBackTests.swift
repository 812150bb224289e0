import Foundation
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Reading objects back", .timeLimit(.minutes(10)))
struct ReadBackTests {
    private func outcomes(_ readings: [ObjectReading]) -> [FileID: ObjectReading.Outcome] {
        Dictionary(readings.map { ($0.fileID, $0.outcome) }) { first, _ in first }
    }

    @Test("Reading back returns the state of each object, and damage is noted")
    func some() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let files = try await keptFiles(4, host: host, lfs: lfs)
            try storage.rot(files[1].key)
            try await storage.delete(ObjectKey(files[2].key), abandoning: nil)
            let stranger = FileID.make()
            let readings = try await lfs.readBack(files.prefix(3).map(\.id) + [stranger])
            #expect(
                outcomes(readings) == [files[0].id: .right, files[1].id: .damaged, files[2].id: .missing])
            #expect(readings.first { $0.fileID == files[0].id }?.byteCount == 1_000)
            let (_, findings) = try await lfs.verified { _ in }
            #expect(Set(findings.compactMap(\.fileID)) == [files[1].id, files[2].id])
        }
    }

    @Test("Reading back fails if the storage returns no object at all")
    func away() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            for file in files { try storage.rot(file.key, rot: .failing) }
            await #expect(throws: LFSError.self) { _ = try await lfs.readBack(files.map(\.id)) }
            storage.recover()
            try #expect(host.count("lfs_job") == 0)
        }
    }

    @Test("A repair restores a loss from an original with the right bytes only")
    func originals() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try storage.rot(file.key)
            #expect(try await lfs.readBack([file.id]).map(\.outcome) == [.damaged])
            var options = VerifyOptions()
            options.repairs = true
            options.originals = { _ in [.bytes(Data(bytes.reversed()))] }
            var report = try await lfs.verify(options)
            #expect(report.left == 1 && report.lostBytes == 1_000)
            options.originals = { _ in [.bytes(Data()), .bytes(Data(bytes))] }
            report = try await lfs.verify(options) { finding in
                #expect(finding.repair == .restore && finding.outcome == .underWay && !finding.isLoss)
            }
            #expect(report.repaired == 1 && report.isClean && report.lostBytes == 0)
            try await lfs.waitForUploads()
            #expect(try await lfs.readBack([file.id]).map(\.outcome) == [.right])
            #expect(try await lfs.verify().findings.isEmpty)
        }
    }
}
