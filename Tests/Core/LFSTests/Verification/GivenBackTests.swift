import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("Restored bytes", .timeLimit(.minutes(10)))
struct GivenBackTests {
    private func damaged(_ checked: CheckedHost) throws -> Set<FileID> {
        try checked.host.database.read { db in Set(try Upload.all().damaged().fetchAll(db).map(\.id)) }
    }

    @Test("Restoring right bytes ends a loss on both sides", arguments: [true, false])
    func bothSides(isDamagedHere: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try checked.plant(nil, at: checked.object(file))
            try checked.plant(isDamagedHere ? someBytes() : nil, at: checked.local(file.id))
            try await withManager(checked.host, options: checked.options) { lfs in
                try await #expect(checked.verify(lfs, repairs: true).report.lostBytes == 1_000)
                try #expect(damaged(checked) == [file.id])
                try await lfs.restore(file.id, from: .bytes(bytes))
                try await lfs.waitForUploads()
                try #expect(damaged(checked).isEmpty)
                try #expect([UInt8](Data(contentsOf: checked.object(file))) == bytes)
                try #expect([UInt8](Data(contentsOf: checked.local(file.id))) == bytes)
                try #expect(checked.host.filesInTemporary().isEmpty)
                try await #expect(checked.verify(lfs).report.isClean)
            }
        }
    }

    @Test("Restored bytes are uploaded although an upload of damaged bytes is running")
    func duringUpload() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, call in if call == 1 { try await gate.pass() } })
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await yield(while: host.filesInStore().isEmpty)
            let url = host.store.appendingPathComponent(file.id.uuidString)
            try FileManager.default.removeItem(at: url)
            try Data(bytes.reversed()).write(to: url)
            lfs.resume()
            await gate.reached.wait()
            try await lfs.restore(file.id, from: .bytes(bytes))
            gate.opened.open()
            let summary = try await lfs.waitForUploads()
            #expect(summary.failures.isEmpty)
            try #expect(host.file(file.id)?.status == .remote)
            #expect(storage.uploads == 2)
        }
    }

    @Test("A restore during a held deletion keeps the bytes of the file")
    func heldDeletion() async throws {
        try await withLFS { host, lfs in
            try await host.holdDeletions()
            lfs.pause()
            let bytes = someBytes(1 << 20)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await yield(while: host.filesInStore().isEmpty)
            let begun = Latch()
            let (chunks, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield(bytes)
            async let outcome = errorCode {
                try await lfs.restore(file.id, from: .chunks(chunks)) { _ in begun.open() }
            }
            await begun.wait()
            try await host.delete(file.id)
            source.finish()
            #expect(await outcome == .unknownFile)
            try await host.reject(file.id)
            lfs.resume()
            try await lfs.waitForUploads()
            #expect(try host.file(file.id)?.status == .remote)
            try #expect(host.filesInStore() == [file.id])
        }
    }

    @Test("Restoring other bytes is refused and changes nothing")
    func otherBytes() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            for url in [checked.object(file), checked.local(file.id)] { try checked.plant(nil, at: url) }
            let source = checked.host.folder.appendingPathComponent("source")
            try Data(someBytes()).write(to: source)
            try await withManager(checked.host, options: checked.options) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
                for wrong in [FileSource.bytes(someBytes()), .movingFile(source), .bytes([])] {
                    await #expect(errorCode { try await lfs.restore(file.id, from: wrong) } == .sourceChanged)
                }
                await #expect(errorCode { try await lfs.restore(.unknown, from: .bytes([])) } == .unknownFile)
                try #expect(damaged(checked) == [file.id])
                #expect(FileManager.default.fileExists(atPath: source.path))
                try #expect(checked.host.filesInTemporary().isEmpty)
                try #expect(!checked.host.filesInStore().contains(file.id))
            }
        }
    }
}
