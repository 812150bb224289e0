import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Restored backups", .timeLimit(.minutes(10)))
struct RestoreTests {
    /// The parts of the backup that are restored.
    enum Extent: CaseIterable, Sendable { case database, folder, everything }

    /// The time at which the backup was made.
    enum Moment: CaseIterable, Sendable { case beforeOpenings, betweenOpenings, duringOpening }

    static let cases = Extent.allCases.flatMap { extent in
        Moment.allCases.flatMap { moment in [true, false].map { (extent, moment, $0) } }
    }

    @Test("A restored backup deletes nothing that was made after it", arguments: cases)
    func nothingIsDeleted(_ extent: Extent, moment: Moment, isFreed: Bool) async throws {
        try await withCheckedHost { checked in
            let backup = Backup(checked.host)
            if moment == .beforeOpenings { try backup.make() }
            try await withManager(checked.host, options: backup.options) { lfs in
                try await insert(2, host: checked.host, lfs: lfs)
                if moment == .duringOpening { try backup.make() }
                if moment != .betweenOpenings { try await insert(2, host: checked.host, lfs: lfs, freed: isFreed) }
            }
            if moment == .betweenOpenings {
                try backup.make()
                try await withManager(checked.host, options: backup.options) { lfs in
                    try await insert(2, host: checked.host, lfs: lfs, freed: isFreed)
                }
            }
            try backup.putBack(extent)
            let (objects, local) = (try objects(checked), try checked.host.filesInStore())
            #expect(objects.count == 4)
            for round in 1...2 {
                try await withManager(checked.host, options: backup.options) { lfs in
                    // New files must not make the unknown files look like old orphans.
                    try await insert(1, host: checked.host, lfs: lfs)
                    _ = try await checked.verify(lfs, repairs: true) { $0.remoteGracePeriod = .zero }
                    try await lfs.waitForUploads()
                    try await #expect(lfs.waitForDeletions() == 0)
                }
                try #expect(self.objects(checked).isSuperset(of: objects))
                try #expect(self.objects(checked).count == 4 + round)
                try #expect(checked.host.filesInStore().isSuperset(of: local))
            }
        }
    }

    @Test("Restoring a backup of an open database deletes no object that is being uploaded")
    func putBackDuringUpload() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, _ in try await gate.pass() })
        try await withHost(storage: storage) { host in
            let backup = Backup(host)
            try backup.make()
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                await gate.reached.wait()
                try backup.putBack(.database)
                gate.opened.open()
                try await lfs.waitForUploads()
                try await yield(while: storage.memory.keys.isEmpty)
                try await lfs.waitForDeletions()
            }
            try await withManager(host) { lfs in try await lfs.waitForDeletions() }
            #expect(storage.memory.keys.count == 1)
        }
    }

    @Test("A backup from the middle of a reset removes nothing that was made afterwards")
    func putBackDuringReset() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try lfs.start()
            let old = try await insert(2, host: host, lfs: lfs)
            try await lfs.stop()
            let backup = Backup(host)
            let reset = Reset(runner: lfs.runner, places: lfs.places, wallClock: { Date() })
            try await reset.deleteRows(.everythingIsUploaded) { _ in }
            try backup.make()
            try await reset.finish()
            var newer: [FileData] = []
            try await withManager(host, starts: false) { lfs in
                newer.append(try await lfs.makeFile(from: .bytes(someBytes())))
                let made = newer
                try await host.database.write { db in for file in made { try file.insert(db) } }
            }
            // Creates the files again, as if the reset had not deleted them.
            for file in old { try Data(someBytes()).write(to: host.store.appendingPathComponent(file.id.uuidString)) }
            try backup.putBack(.database)
            try await withManager(host, starts: false) { _ in
                try #expect(host.count("lfs_state WHERE isResetting = 0") == 1)
                try #expect(host.filesInStore().union(host.filesInTemporary()) == Set(newer.map(\.id)))
            }
        }
    }

    @discardableResult
    private func insert(
        _ count: Int, host: TestHost, lfs: LFSManager, freed: Bool = false
    ) async throws -> [FileData] {
        let files = try await keptFiles(count, host: host, lfs: lfs)
        if freed { for file in files { try await lfs.evict(file.id) } }
        return files
    }

    private func objects(_ checked: CheckedHost) throws -> Set<String> {
        let names = try FileManager.default.subpathsOfDirectory(atPath: checked.remote.path)
        return Set(names.filter { FileID(($0 as NSString).lastPathComponent) != nil })
    }
}

/// A backup of a database, its folder and its persistence location, copied in this order.
private struct Backup {
    private let host: TestHost
    private let copy: URL

    init(_ host: TestHost) {
        self.host = host
        copy = host.folder.appendingPathComponent("backup")
    }

    private var location: URL { host.folder.appendingPathComponent("location") }

    /// Options with a persistence location and without a grace period.
    var options: LFSOptions {
        var options = host.options
        options.persistenceLocation = location
        options.temporaryFileGracePeriod = .zero
        return options
    }

    func make() throws {
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        try host.database.backup(to: DatabaseQueue(path: copy.appendingPathComponent("database").path))
        try replace(copy.appendingPathComponent("folder"), by: host.store)
        try replace(copy.appendingPathComponent("location"), by: location)
    }

    func putBack(_ extent: RestoreTests.Extent) throws {
        try DatabaseQueue(path: copy.appendingPathComponent("database").path).backup(to: host.database)
        if extent == .database { return }
        try replace(host.store, by: copy.appendingPathComponent("folder"))
        if extent == .everything { try replace(location, by: copy.appendingPathComponent("location")) }
    }

    /// Replaces a folder by a copy of another one. Both may be missing.
    private func replace(_ folder: URL, by other: URL) throws {
        let files = FileManager.default
        if files.fileExists(atPath: folder.path) { try files.removeItem(at: folder) }
        if files.fileExists(atPath: other.path) { try files.copyItem(at: other, to: folder) }
    }
}
