import Foundation
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Mending the local copy of one file", .timeLimit(.minutes(10)))
struct MendCopyTests {
    private func quarantine(_ checked: CheckedHost) throws -> [String] {
        let folder = checked.host.store.appendingPathComponent("quarantine")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    enum Damage: CaseIterable { case flipped, cut, folder }

    @Test(
        "A damaged copy is replaced by what the storage has, and the others are not looked at",
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
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                try await #expect(lfs.mendLocalCopy(of: files[0].id))
                #expect(try [UInt8](Data(contentsOf: checked.local(files[0].id))) == bytes)
                // What was in a folder is somebody's.
                #expect(try quarantine(checked).count == (damage == .folder ? 1 : 0))
                try await #expect(!lfs.mendLocalCopy(of: files[0].id), "it is right now")
                let others = try await checked.verify(lfs).findings.filter { $0.kind != .quarantined }
                #expect(others.map(\.fileID) == [files[1].id])
            }
        }
    }

    @Test("A right copy stays, and where there is none, none is fetched")
    func nothingToMend() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                try await lfs.evict(files[1].id)
                let before = try checked.snapshot()
                for file in files { try await #expect(!lfs.mendLocalCopy(of: file.id)) }
                #expect(try checked.snapshot() == before)
                let unknown = FileID.make()
                #expect(await errorCode { try await lfs.mendLocalCopy(of: unknown) } == .unknownFile)
            }
        }
    }

    @Test("Where the storage has no right bytes either, the damaged ones stay in their place")
    func nowhere() async throws {
        try await withCheckedHost { checked in
            let remote = try await checked.uploaded(2)
            let local = try await checked.pending(1)
            try checked.plant(nil, at: checked.object(remote[0]))
            try checked.plant(someBytes(), at: checked.object(remote[1]))
            for file in remote + local { try checked.plant(someBytes(), at: checked.local(file.id)) }
            let before = try checked.snapshot()
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                for file in remote + local {
                    #expect(await errorCode { try await lfs.mendLocalCopy(of: file.id) } == .sourceChanged)
                }
            }
            #expect(try checked.snapshot() == before)
        }
    }

    @Test("While the storage is away, the damaged bytes are kept, and the right ones come when it is back")
    func away() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            let damaged = someBytes()
            try checked.plant(damaged, at: checked.local(file.id))
            var options = checked.options
            options.storage = UnreadableStorage(checked.storage)
            try await withManager(checked.host, options, starts: false) { lfs in
                #expect(await errorCode { try await lfs.mendLocalCopy(of: file.id) } == .storage)
            }
            let kept = checked.host.store.appendingPathComponent("quarantine")
            for name in try quarantine(checked) {
                #expect(try [UInt8](Data(contentsOf: kept.appendingPathComponent(name))) == damaged)
            }
            #expect(try quarantine(checked).count == 1)
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                try await #expect(read(file, lfs) == bytes)
            }
        }
    }

    @Test("A file that was not noted as uploaded is fetched and sent again")
    func notNoted() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.pending(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            try checked.plant(bytes, at: checked.object(file))
            try checked.plant(someBytes(), at: checked.local(file.id))
            // Until then nothing sends what is damaged.
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                try await #expect(lfs.mendLocalCopy(of: file.id))
                try await #expect(read(file, lfs) == bytes)
            }
            try await withManager(checked.host, checked.options) { lfs in
                try await lfs.waitForUploads()
                #expect(try checked.host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("Of several calls for one file, one mends it, and the others wait for it", arguments: [true, false])
    func together(isUploaded: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await (isUploaded ? checked.uploaded(1) : checked.pending(1))[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            if !isUploaded { try checked.plant(bytes, at: checked.object(file)) }
            try checked.plant(someBytes(), at: checked.local(file.id))
            var options = checked.options
            let gate = GatedStorage(checked.storage, on: [.download])
            options.storage = gate
            try await withManager(checked.host, options, starts: false) { lfs in
                async let first = lfs.mendLocalCopy(of: file.id)
                // The damaged copy is in quarantine now, and nothing in its place.
                await gate.waitForArrivals(1)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask { try await lfs.mendLocalCopy(of: file.id) }
                    }
                    try await yield(while: lfs.mendTurns.waiterCount(file.id) < 8)
                    gate.open()
                    for try await isMended in group { #expect(!isMended) }
                }
                try await #expect(first)
                try await #expect(read(file, lfs) == bytes)
                try #expect(quarantine(checked).isEmpty)
            }
        }
    }

    @Test("A verification waits for a mend, and does not report bytes that are aside until it is done")
    func verification() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try checked.plant(someBytes(), at: checked.local(file.id))
            var options = checked.options
            let gate = GatedStorage(checked.storage, on: [.download])
            options.storage = gate
            try await withManager(checked.host, options, starts: false) { lfs in
                async let isMended = lfs.mendLocalCopy(of: file.id)
                await gate.waitForArrivals(1)
                async let findings = checked.verify(lfs).findings
                try await yield(while: lfs.mendTurns.waiterCount(file.id) < 1)
                gate.open()
                try await #expect(isMended)
                try await #expect(findings.isEmpty)
            }
        }
    }

    @Test("A damaged copy that waits in a staging area is mended as well")
    func staged() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try checked.plant(nil, at: checked.local(file.id))
            let waiting = checked.host.store.appendingPathComponent("temporary/\(file.id.uuidString)")
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                try checked.plant(someBytes(), at: waiting)
                try await #expect(lfs.mendLocalCopy(of: file.id))
                try await #expect(read(file, lfs) == bytes)
                #expect(!FileManager.default.fileExists(atPath: waiting.path))
                try #expect(quarantine(checked).isEmpty)
            }
        }
    }

    @Test("While readers are served, a mend is served beside them")
    func besideReaders() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.local(files[1].id))
            try checked.plant(someBytes(), at: checked.local(files[0].id))
            var options = checked.options
            let gate = GatedStorage(checked.storage, on: [.download])
            options.storage = gate
            try await withManager(checked.host, options, starts: false) { lfs in
                async let reading = read(files[1], lfs)
                await gate.waitForArrivals(1)
                async let mending = lfs.mendLocalCopy(of: files[0].id)
                await gate.waitForArrivals(2)
                gate.open()
                try await #expect(mending)
                _ = try await reading
            }
        }
    }

    @Test("A file that somebody puts in the place of the damaged one is looked at before anything is done to it")
    func replaced() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let copy = checked.local(file.id)
            let bytes = try [UInt8](Data(contentsOf: copy))
            let other = copy.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("other")
            try checked.plant(bytes, at: other)
            try checked.plant(someBytes(), at: copy)
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                // Another process has mended it between the comparison and what follows from it.
                checked.storage.beforeHead { _ in
                    guard FileManager.default.fileExists(atPath: other.path) else { return }
                    guard rename(other.path, copy.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
                }
                try await #expect(!lfs.mendLocalCopy(of: file.id))
                #expect(try [UInt8](Data(contentsOf: copy)) == bytes)
                try #expect(quarantine(checked).isEmpty)
            }
        }
    }
}
