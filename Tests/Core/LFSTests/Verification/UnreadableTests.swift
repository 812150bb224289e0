import Foundation
import GRDB
import LFS
import LFSSystem
import TestSupport
import Testing

@Suite(
    "Unreadable local copies", .enabled(if: canMakeFilesUnreadable, "needs root to mount"),
    .timeLimit(.minutes(10)))
struct UnreadableTests {
    @Test("An unreadable copy is reported and does not stop the verification", arguments: [4_096, 1_000])
    func verify(_ byteCount: Int) async throws {
        try await withCheckedHost { checked in
            let others = try await checked.uploaded(3)
            try await withManager(checked.host, options: checked.options) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes(byteCount)))
                try await checked.host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                try checked.plant(nil, at: checked.object(others[2]))
                try await withUnreadableFile(at: checked.local(file.id)) {
                    for repairs in [false, true] {
                        let (report, findings) = try await checked.verify(lfs, repairs: repairs) {
                            $0.checksContent = true
                        }
                        let ids = Set(findings.map(\.fileID))
                        #expect(ids == [file.id, others[2].id])
                        let found = try #require(findings.first { $0.fileID == file.id })
                        let expected = byteCount == 4_096 ? VerifyFinding.Kind.unreadableLocally : .wrongLengthLocally
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

    @Test("A copy that is unreadable for a moment is read again and not reported", arguments: [true, false])
    func passing(isInQuarantine: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1, byteCount: 4_096)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            var place = checked.local(file.id)
            if isInQuarantine {
                place = checked.host.store.appendingPathComponent("quarantine/\(file.id.uuidString).\(FileID.make())")
                try checked.plant(bytes, at: place)
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o700], ofItemAtPath: place.deletingLastPathComponent().path)
                try checked.plant(nil, at: checked.local(file.id))
            }
            let clock = ManualClock()
            var options = checked.options
            options.clock = clock
            try await withManager(checked.host, options: options, starts: false) { lfs in
                let verifying = try await withUnreadableFile(at: place) {
                    let verifying = Task { try await checked.verify(lfs, repairs: true) }
                    await clock.waitForSleepers()
                    return verifying
                }
                clock.advance(by: .seconds(1))
                let findings = try await verifying.value.findings
                #expect(findings.map(\.repair) == (isInQuarantine ? [.putBack] : []))
                #expect(try [UInt8](Data(contentsOf: checked.local(file.id))) == bytes)
                #expect(try await checked.verify(lfs).findings.isEmpty)
            }
        }
    }

    @Test("Unreadable quarantined bytes are kept and reported as possibly right")
    func unreadableInQuarantine() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1, byteCount: 4_096)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            let folder = checked.host.store.appendingPathComponent("quarantine")
            let place = folder.appendingPathComponent("\(file.id.uuidString).\(FileID.make())")
            try checked.plant(bytes, at: place)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
            try checked.plant(nil, at: checked.local(file.id))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await withUnreadableFile(at: place) {
                    let (_, findings) = try await checked.verify(lfs, repairs: true)
                    #expect(findings.map(Told.init) == [Told(.quarantined, id: file.id, repair: nil)])
                    #expect(findings.allSatisfy { $0.message.contains("They may be correct") })
                }
                let (_, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.repaired])
                #expect(try [UInt8](Data(contentsOf: checked.local(file.id))) == bytes)
            }
        }
    }

    @Test("An unreadable copy that is not uploaded is neither moved nor given up")
    func notUploaded() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.pending(1, byteCount: 4_096)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            let expected = Told(.unreadableLocally, id: file.id, repair: nil)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await withUnreadableFile(at: checked.local(file.id)) {
                    for repairs in [false, true] {
                        let (report, findings) = try await checked.verify(lfs, repairs: repairs)
                        #expect(findings.map(Told.init) == [expected])
                        #expect(findings.map(\.outcome) == [.found])
                        #expect(findings.allSatisfy { !$0.isLoss && $0.message.contains("(Permission denied)") })
                        #expect(report.left == 1 && report.lostBytes == 0)
                    }
                    // The original with the right bytes is tried, but the unreadable file cannot be replaced on this
                    // machine.
                    let (_, findings) = try await checked.verify(lfs, repairs: true) { options in
                        options.originals = { _ in [.bytes(Data(bytes))] }
                    }
                    guard case .failed = findings.first?.outcome else {
                        Issue.record("no original was tried: \(findings)")
                        return
                    }
                }
                try await #expect(checked.verify(lfs).findings.isEmpty)
                try await #expect(lfs.data(of: file) == Data(bytes))
            }
        }
    }

    @Test("An unreadable copy is kept if its object is missing")
    func objectGone() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1, byteCount: 4_096)[0]
            try checked.plant(nil, at: checked.object(file))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await withUnreadableFile(at: checked.local(file.id)) {
                    for repairs in [false, true] {
                        let (_, findings) = try await checked.verify(lfs, repairs: repairs) { $0.acceptsEmpty = true }
                        #expect(
                            Set(findings.map(Told.init)) == [
                                Told(.unreadableLocally, id: file.id, repair: nil),
                                Told(.missingRemotely, id: file.id, repair: nil),
                            ])
                        #expect(findings.allSatisfy { !$0.isLoss })
                    }
                }
                let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
                #expect(report.staying.files == 1)
                let (_, findings) = try await checked.verify(lfs, repairs: true) { $0.acceptsEmpty = true }
                #expect(findings.map(Told.init) == [Told(.missingRemotely, id: file.id, repair: .upload)])
                try lfs.start()
                try await lfs.waitForUploads()
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
        }
    }

    @Test("Reading an unreadable copy throws an error")
    func read() async throws {
        try await withCheckedHost { checked in
            try await withManager(checked.host, options: checked.options) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes(4_096)))
                try await checked.host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                try await withUnreadableFile(at: checked.local(file.id)) {
                    await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
                    await #expect(throws: LFSError.self) { _ = try await lfs.bytes(of: file, range: 0..<1) }
                    await #expect(throws: LFSError.self) { _ = try await lfs.localURL(of: file) }
                }
            }
        }
    }

    @Test("A copy that cannot be moved leaves no partial state of an eviction")
    func free() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(20, byteCount: 4_096, host: host, lfs: lfs)
            let stubborn = host.store.appendingPathComponent(files[7].id.uuidString)
            try await withUnreadableFile(at: stubborn) {
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
