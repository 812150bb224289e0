import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFS

/// A record of what a device's backup excludes.
///
/// The mutexes own the marks and the failures.
private final class DeviceBackup: Sendable {
    private let marks = Mutex<[String: Bool]>([:])
    private let history = EventLog<String>()
    private let failures = Mutex<Set<String>>([])

    var call: BackupExclusion.Call {
        { [self] path, isExcluded in
            if failures.withLock({ $0.remove(path) }) != nil { throw CocoaError(.fileWriteUnknown) }
            marks.withLock { $0[path] = isExcluded }
            if isExcluded { history.add(path) }
        }
    }

    func excludes(_ url: URL) -> Bool { marks.withLock { $0[url.path] } == true }
    func hasExcluded(_ url: URL) -> Bool { history.events.contains(url.path) }

    /// Lets the next call for a file fail.
    func failNext(for url: URL) { failures.withLock { _ = $0.insert(url.path) } }
}

@Suite("Marks for the backup of a device", .timeLimit(.minutes(10)))
struct BackupMarkTests {
    private func withMarks(
        storage: any RemoteStorage = InMemoryStorage(),
        _ body: (TestHost, LFSManager, DeviceBackup) async throws -> Void
    ) async throws {
        let backup = DeviceBackup()
        try await withHost(storage: storage) { host in
            var options = host.options
            options.backupCall = backup.call
            try await withManager(host, options: options) { lfs in try await body(host, lfs, backup) }
        }
    }

    private func copy(_ file: FileData, host: TestHost) -> URL { host.store.child(file.id.uuidString) }

    @Test("An uploaded file is excluded from the backup, and a pending one is not")
    func uploaded() async throws {
        try await withMarks { host, lfs, backup in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await yield(while: host.filesInStore().isEmpty)
            #expect(!backup.hasExcluded(copy(file, host: host)))
            lfs.resume()
            try await yield(while: !backup.excludes(copy(file, host: host)))
            try #expect(host.file(file.id)?.status == .remote)
        }
    }

    @Test("A file whose upload is not proven by a checksum stays in the backup")
    func unproven() async throws {
        try await withMarks { host, lfs, backup in
            let files = try await keptFiles(2, host: host, lfs: lfs)
            try await yield(while: files.contains { !backup.excludes(copy($0, host: host)) })
            try await host.database.write { db in
                try db.execute(
                    sql: "UPDATE lfs_file SET proof = 'byteCount' WHERE id = ?", arguments: [files[0].id])
            }
            // The marks are checked when the work begins.
            try await lfs.suspend()
            try await lfs.resumeFromSuspension()
            try await yield(while: backup.excludes(copy(files[0], host: host)))
            #expect(backup.excludes(copy(files[1], host: host)))
        }
    }

    @Test("A file whose object is found damaged is in the backup again")
    func damaged() async throws {
        let storage = InMemoryStorage()
        try await withMarks(storage: storage) { host, lfs, backup in
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            try await yield(while: !backup.excludes(copy(file, host: host)))
            lfs.pause()
            try await storage.delete(ObjectKey(file.key), abandoning: nil)
            let other = try UploadSource.temporary(someBytes())
            _ = try await storage.upload(other, to: ObjectKey(file.key), session: UploadSession())
            _ = try await lfs.readBack([file.id])
            try await yield(while: backup.excludes(copy(file, host: host)))
            // The repair uploads the right bytes again.
            lfs.resume()
            try await lfs.retry([file.id])
            try await yield(while: !backup.excludes(copy(file, host: host)))
        }
    }

    @Test("A file whose mark failed is marked together with the next file")
    func failed() async throws {
        let backup = DeviceBackup()
        try await withLFS { host, lfs in
            let files = try await keptFiles(2, host: host, lfs: lfs)
            // Its notes are handled here, not by the manager.
            let marks = BackupMarks(BackupExclusion(call: backup.call))
            let (store, runner) = (lfs.places.store, lfs.runner)
            backup.failNext(for: copy(files[0], host: host))
            marks.note(files[0].id)
            await marks.hasNotes.wait()
            await #expect(throws: CocoaError.self) { try await marks.refreshNoted(store, runner: runner) }
            marks.note(files[1].id)
            await marks.hasNotes.wait()
            try await marks.refreshNoted(store, runner: runner)
            for file in files { #expect(backup.excludes(copy(file, host: host))) }
        }
    }

    @Test("A downloaded file is excluded from the backup")
    func downloaded() async throws {
        try await withMarks { host, lfs, backup in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            try await #expect(lfs.data(of: file) != nil)
            try await yield(while: !backup.excludes(copy(file, host: host)))
        }
    }

    @Test("The folders of downloads, parts and the cache are excluded, and the store is not")
    func folders() async throws {
        try await withHost { host in
            for name in ["cache", "outgoing"] {
                try FileManager.default.createDirectory(
                    at: host.store.child(name), withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: host.store.path)
            let backup = DeviceBackup()
            var options = host.options
            options.backupCall = backup.call
            try await withManager(host, options: options) { _ in
                try await yield(while: !backup.excludes(host.store.child("cache")))
                #expect(backup.excludes(host.store.child("outgoing")))
                #expect(backup.excludes(host.incoming))
                #expect(!backup.hasExcluded(host.store) && !backup.hasExcluded(host.temporary))
            }
        }
    }
}
