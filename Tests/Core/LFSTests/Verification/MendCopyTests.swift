import Foundation
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Repair of one local copy", .timeLimit(.minutes(10)))
struct MendCopyTests {
    private func quarantine(_ checked: CheckedHost) throws -> [String] {
        let folder = checked.host.store.appendingPathComponent("quarantine")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    enum Damage: CaseIterable { case flipped, cut, folder }

    @Test(
        "A damaged copy is replaced from the storage without reading other files",
        arguments: Damage.allCases)
    func damaged(_ damage: Damage) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            for file in files {
                let copy = checked.local(file.id)
                switch damage {
                case .flipped: try checked.plant(someBytes(), at: copy)
                case .cut: try checked.plant(Array(bytes.dropLast()), at: copy)
                case .folder:
                    try checked.plant(nil, at: copy)
                    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: false)
                }
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(lfs.repairLocalCopy(of: files[0].id))
                #expect(try [UInt8](Data(contentsOf: checked.local(files[0].id))) == bytes)
                // The content of a folder may belong to a person.
                #expect(try quarantine(checked).count == (damage == .folder ? 1 : 0))
                try await #expect(!lfs.repairLocalCopy(of: files[0].id), "the copy is correct now")
                let others = try await checked.verify(lfs).findings.filter { $0.kind != .quarantined }
                #expect(others.map(\.fileID) == [files[1].id])
            }
        }
    }

    @Test("A right copy is kept, and a missing one is not downloaded")
    func nothingToMend() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await lfs.evict(files[1].id)
                let before = try checked.snapshot()
                for file in files { try await #expect(!lfs.repairLocalCopy(of: file.id)) }
                #expect(try checked.snapshot() == before)
                let unknown = FileID.make()
                #expect(await errorCode { try await lfs.repairLocalCopy(of: unknown) } == .unknownFile)
            }
        }
    }

    @Test("A damaged copy stays if the storage has no right bytes")
    func nowhere() async throws {
        try await withCheckedHost { checked in
            let remote = try await checked.uploaded(2)
            let local = try await checked.pending(1)
            try checked.plant(nil, at: checked.object(remote[0]))
            try checked.plant(someBytes(), at: checked.object(remote[1]))
            for file in remote + local { try checked.plant(someBytes(), at: checked.local(file.id)) }
            let before = try checked.snapshot()
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                for file in remote + local {
                    #expect(await errorCode { try await lfs.repairLocalCopy(of: file.id) } == .sourceChanged)
                }
            }
            #expect(try checked.snapshot() == before)
        }
    }

    @Test("A damaged copy is quarantined while the storage is unreachable")
    func away() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            let damaged = someBytes()
            try checked.plant(damaged, at: checked.local(file.id))
            var options = checked.options
            options.storage = UnreadableStorage(checked.storage)
            try await withManager(checked.host, options: options, starts: false) { lfs in
                #expect(await errorCode { try await lfs.repairLocalCopy(of: file.id) } == .storage)
            }
            let kept = checked.host.store.appendingPathComponent("quarantine")
            for name in try quarantine(checked) {
                #expect(try [UInt8](Data(contentsOf: kept.appendingPathComponent(name))) == damaged)
            }
            #expect(try quarantine(checked).count == 1)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(read(file, lfs: lfs) == bytes)
            }
        }
    }

    @Test("A file that is uploaded without a record of it is downloaded and uploaded again")
    func notNoted() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.pending(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            try checked.plant(bytes, at: checked.object(file))
            try checked.plant(someBytes(), at: checked.local(file.id))
            // The manager does not run, so that no damaged bytes are uploaded.
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(lfs.repairLocalCopy(of: file.id))
                try await #expect(read(file, lfs: lfs) == bytes)
            }
            try await withManager(checked.host, options: checked.options) { lfs in
                try await lfs.waitForUploads()
                #expect(try checked.host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("Concurrent repairs of one file repair it once", arguments: [true, false])
    func together(isUploaded: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await (isUploaded ? checked.uploaded(1) : checked.pending(1))[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            if !isUploaded { try checked.plant(bytes, at: checked.object(file)) }
            try checked.plant(someBytes(), at: checked.local(file.id))
            var options = checked.options
            let gate = GatedStorage(checked.storage, on: [.download])
            options.storage = gate
            try await withManager(checked.host, options: options, starts: false) { lfs in
                async let first = lfs.repairLocalCopy(of: file.id)
                // The damaged copy is in quarantine now, and its place is empty.
                await gate.waitForArrivals(1)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask { try await lfs.repairLocalCopy(of: file.id) }
                    }
                    try await yield(while: lfs.repairLocks.waiterCount(file.id) < 8)
                    gate.open()
                    for try await isMended in group { #expect(!isMended) }
                }
                try await #expect(first)
                try await #expect(read(file, lfs: lfs) == bytes)
                try #expect(quarantine(checked).isEmpty)
            }
        }
    }

    @Test("A verification waits for a running repair of the file")
    func verification() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try checked.plant(someBytes(), at: checked.local(file.id))
            var options = checked.options
            let gate = GatedStorage(checked.storage, on: [.download])
            options.storage = gate
            try await withManager(checked.host, options: options, starts: false) { lfs in
                async let isMended = lfs.repairLocalCopy(of: file.id)
                await gate.waitForArrivals(1)
                async let findings = checked.verify(lfs).findings
                try await yield(while: lfs.repairLocks.waiterCount(file.id) < 1)
                gate.open()
                try await #expect(isMended)
                try await #expect(findings.isEmpty)
            }
        }
    }

    @Test("A damaged copy in a staging area is repaired")
    func staged() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try checked.plant(nil, at: checked.local(file.id))
            let waiting = checked.host.store.appendingPathComponent("temporary/\(file.id.uuidString)")
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try checked.plant(someBytes(), at: waiting)
                try await #expect(lfs.repairLocalCopy(of: file.id))
                try await #expect(read(file, lfs: lfs) == bytes)
                #expect(!FileManager.default.fileExists(atPath: waiting.path))
                try #expect(quarantine(checked).isEmpty)
            }
        }
    }

    @Test("A repair runs concurrently with readers")
    func besideReaders() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.local(files[1].id))
            try checked.plant(someBytes(), at: checked.local(files[0].id))
            var options = checked.options
            let gate = GatedStorage(checked.storage, on: [.download])
            options.storage = gate
            try await withManager(checked.host, options: options, starts: false) { lfs in
                async let reading = read(files[1], lfs: lfs)
                await gate.waitForArrivals(1)
                async let mending = lfs.repairLocalCopy(of: files[0].id)
                await gate.waitForArrivals(2)
                gate.open()
                try await #expect(mending)
                _ = try await reading
            }
        }
    }

    @Test("A repair keeps a copy that was replaced in the meantime")
    func replaced() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let copy = checked.local(file.id)
            let bytes = try [UInt8](Data(contentsOf: copy))
            let other = copy.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("other")
            try checked.plant(bytes, at: other)
            try checked.plant(someBytes(), at: copy)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                // Another process repairs the file between the comparison and the repair.
                checked.storage.beforeHead { _ in
                    guard FileManager.default.fileExists(atPath: other.path) else { return }
                    guard rename(other.path, copy.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
                }
                try await #expect(!lfs.repairLocalCopy(of: file.id))
                #expect(try [UInt8](Data(contentsOf: copy)) == bytes)
                try #expect(quarantine(checked).isEmpty)
            }
        }
    }
}
