import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@Suite("Faults of originals", .timeLimit(.minutes(10)))
struct OriginalFaultTests {
    /// The size of an original whose bytes are not kept for its upload.
    private static let large = 300_000

    private func write(_ bytes: [UInt8], in host: TestHost) throws -> URL {
        let url = host.folder.appendingPathComponent("photo.jpg")
        try Data(bytes).write(to: url)
        return url
    }

    private func attach(_ url: URL, host: TestHost, lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .original(url))
        try await host.database.write { try file.insert($0) }
        return file
    }

    /// Checks that an upload was confirmed with the attached bytes, or has failed without an object.
    private func check(
        _ file: FileData, bytes: [UInt8], change: OriginalChange, storage: InMemoryStorage, host: TestHost
    ) async throws {
        let object = storage.bytes(of: try ObjectKey(file.key))
        if change.isInPlace {
            let upload = try await host.database.read { try Upload.fetchOne($0, key: file.id) }
            #expect(upload?.code == .sourceChanged, "\(String(describing: upload))")
            #expect(try host.file(file.id)?.status == .local)
            #expect(object == nil)
        } else {
            // The open file still has the attached bytes.
            #expect(try host.file(file.id)?.status == .remote)
            #expect(object == bytes)
        }
    }

    @Test("An original that changes after it was opened is not confirmed", arguments: OriginalChange.allCases)
    func opened(_ change: OriginalChange) async throws {
        let storage = InMemoryStorage()
        let gated = GatedStorage(storage)
        try await withLFS(storage: gated, expectsLeftovers: true) { host, lfs in
            let bytes = someBytes(Self.large)
            let url = try write(bytes, in: host)
            let file = try await attach(url, host: host, lfs: lfs)
            await gated.waitForArrivals(1)
            try change.apply(to: url)
            gated.open()
            try await lfs.waitForUploads()
            try await check(file, bytes: bytes, change: change, storage: storage, host: host)
        }
    }

    @Test("An original that changes between two parts is not confirmed", arguments: OriginalChange.allCases)
    func betweenParts(_ change: OriginalChange) async throws {
        let storage = InMemoryStorage()
        let changing = ChangingStorage(base: storage)
        try await withLFS(storage: changing, expectsLeftovers: true) { host, lfs in
            let bytes = someBytes(5_000_000)
            let url = try write(bytes, in: host)
            changing.onChange { try change.apply(to: url) }
            let file = try await attach(url, host: host, lfs: lfs)
            try await lfs.waitForUploads()
            #expect(changing.hasChanged)
            try await check(file, bytes: bytes, change: change, storage: storage, host: host)
        }
    }

    @Test(
        "An original that changes after its last part is confirmed as attached",
        arguments: OriginalChange.allCases)
    func beforeConfirmation(_ change: OriginalChange) async throws {
        let storage = InMemoryStorage()
        let changing = ChangingStorage(base: storage, isAtEnd: true)
        try await withLFS(storage: changing) { host, lfs in
            let bytes = someBytes(Self.large)
            let url = try write(bytes, in: host)
            changing.onChange { try change.apply(to: url) }
            let file = try await attach(url, host: host, lfs: lfs)
            try await lfs.waitForUploads()
            #expect(changing.hasChanged)
            #expect(try host.file(file.id)?.status == .remote)
            #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes)
        }
    }

    /// Attaches an original, and then replaces its bytes without a change of its stamp. A write through a mapping does
    /// that, because it changes no time until it is synced.
    private func attachAndReplace(
        _ bytes: [UInt8], host: TestHost, lfs: LFSManager
    ) async throws -> FileData {
        let url = try write(bytes, in: host)
        let file = try await lfs.makeFile(from: .original(url))
        try OriginalChange.otherBytes.apply(to: url)
        let present = try await lfs.makeFile(from: .original(url))
        try await host.database.write { db in
            try present.insert(db)
            try file.insert(db)
            try db.execute(
                sql: """
                    UPDATE lfs_original SET stamp = (SELECT stamp FROM lfs_original WHERE fileID = ?) WHERE fileID = ?
                    """, arguments: [present.id, file.id])
            try present.delete(db)
        }
        try await lfs.waitForUploads()
        return file
    }

    @Test("Other bytes with the size and the times of the original are not uploaded")
    func sameStamp() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let file = try await attachAndReplace(someBytes(Self.large), host: host, lfs: lfs)
            let upload = try await host.database.read { try Upload.fetchOne($0, key: file.id) }
            #expect(upload?.code == .sourceChanged, "\(String(describing: upload))")
            #expect(try host.file(file.id)?.status == .local)
            #expect(storage.bytes(of: try ObjectKey(file.key)) == nil)
        }
    }

    @Test("A small original is read once, so its upload has the bytes of its attachment")
    func small() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await attachAndReplace(bytes, host: host, lfs: lfs)
            #expect(try host.file(file.id)?.status == .remote)
            #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes)
        }
    }

    @Test("A small original on another disk is read before its upload begins")
    func otherDisk() async throws {
        let storage = InMemoryStorage()
        let gated = GatedStorage(storage)
        try await withHost(storage: gated) { host in
            let bytes = someBytes()
            let url = try write(bytes, in: host)
            var files: [FileData] = []
            // The manager that uploads has not kept the bytes.
            try await withManager(host, starts: false) { lfs in files = [try await attach(url, host: host, lfs: lfs)] }
            let file = try #require(files.first)
            try await host.database.write { db in
                // A number that no file system has.
                try db.execute(sql: "UPDATE lfs_original SET device = -7")
            }
            try await withManager(host) { lfs in
                await gated.waitForArrivals(1)
                try OriginalChange.otherBytes.apply(to: url)
                gated.open()
                try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
                #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes)
            }
        }
    }

    @Test(
        "An original whose disk is unmounted is uploaded when the disk is back",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func unmounted() async throws {
        let storage = InMemoryStorage()
        try await withSmallFileSystem(kilobytes: 64) { disk in
            try await withLFS(storage: storage) { host, lfs in
                let place = host.folder.appendingPathComponent("disk")
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
                #expect(try runTool("mount", arguments: ["--bind", disk.path, place.path]))
                let bytes = someBytes()
                let url = place.appendingPathComponent("photo.jpg")
                try Data(bytes).write(to: url)
                let file = try await lfs.makeFile(from: .original(url))
                #expect(try runTool("umount", arguments: ["-l", place.path]))
                try await host.database.write { try file.insert($0) }
                try await yield(while: try host.count("lfs_job WHERE errorCode = 'sourceAbsent'") == 0)
                #expect(storage.keys.isEmpty)
                #expect(try runTool("mount", arguments: ["--bind", disk.path, place.path]))
                try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
                #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes)
                #expect(try runTool("umount", arguments: ["-l", place.path]))
            }
        }
    }

    @Test(
        "An original that cannot be read for a moment is uploaded afterwards",
        .enabled(if: canMakeFilesUnreadable, "needs root to mount"))
    func unreadable() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            // As large as the unreadable file, so that the bytes are read and not only the size.
            let bytes = someBytes(4_096)
            let url = try write(bytes, in: host)
            try await withUnreadableFile(at: url) {
                let other = host.folder.appendingPathComponent("other.jpg")
                try Data(bytes).write(to: other)
                let file = try await lfs.makeFile(from: .original(other))
                try await host.database.write { db in
                    try file.insert(db)
                    try db.execute(sql: "UPDATE lfs_original SET path = ?, relativePath = NULL", arguments: [url.path])
                }
                try await yield(while: try host.count("lfs_job WHERE errorCode = 'sourceUnreadable'") == 0)
                #expect(storage.keys.isEmpty)
            }
            try await lfs.retry()
            try await lfs.waitForUploads()
            #expect(try host.count("lfs_file WHERE status = 'remote'") == 1)
            #expect(storage.keys.count == 1)
        }
    }
}

/// A storage during whose first upload an original is changed: once a part was read, or at the end.
private final class ChangingStorage: StorageWrapper {
    let base: any RemoteStorage
    private let isAtEnd: Bool
    private let change = Mutex<(@Sendable () throws -> Void)?>(nil)
    private let changed = Mutex(false)

    init(base: any RemoteStorage, isAtEnd: Bool = false) {
        self.base = base
        self.isAtEnd = isAtEnd
    }

    var hasChanged: Bool { changed.withLock(\.self) }

    func onChange(_ body: @escaping @Sendable () throws -> Void) { change.withLock { $0 = body } }

    private func apply() throws {
        guard let change = change.withLock({ $0.take() }) else { return }
        try change()
        changed.withLock { $0 = true }
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        if isAtEnd {
            let object = try await base.upload(source, to: key, session: session)
            try apply()
            return object
        }
        let changingSource = UploadSource(byteCount: source.byteCount, sha256: source.sha256) { buffer, offset in
            if offset > 0 { try self.apply() }
            return try source.read(into: buffer, at: offset)
        }
        return try await base.upload(changingSource, to: key, session: session)
    }
}
