import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Absent folders", .timeLimit(.minutes(10)))
struct AbsentFolderTests {
    private static let absent = LFSError.Code(rawValue: "folderAbsent")

    /// Opens a manager without starting it, so that the committed file is not promoted.
    private func leave(_ host: TestHost, options: LFSOptions) async throws -> FileData {
        var file: FileData?
        try await withManager(host, options: options, starts: false) { lfs in
            let made = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try made.insert($0) }
            file = made
        }
        return try #require(file)
    }

    private func located(_ host: TestHost) -> LFSOptions {
        var options = host.options
        options.persistenceLocation = host.folder.appendingPathComponent("staging")
        return options
    }

    /// Returns when the upload has failed once.
    private func waitForTry(_ host: TestHost) async throws {
        try await yield(while: host.count("lfs_job WHERE errorCode IS NULL") > 0)
    }

    /// Moves the store away. Returns a function that puts it back in place of the new one.
    private func moveStoreAway(_ host: TestHost) throws -> @Sendable () throws -> Void {
        let (store, aside, anew) = (host.store, host.folder.child("aside"), host.folder.child("anew"))
        try FileManager.default.moveItem(at: store, to: aside)
        return {
            try FileManager.default.moveItem(at: store, to: anew)
            try FileManager.default.moveItem(at: aside, to: store)
        }
    }

    private func message(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test("The files of an absent location wait until it is back")
    func location() async throws {
        try await withHost { host in
            let file = try await leave(host, options: located(host))
            let (location, aside) = (try #require(located(host).persistenceLocation), host.folder.child("aside"))
            try FileManager.default.moveItem(at: location, to: aside)
            try await withManager(host) { lfs in
                try await waitForTry(host)
                try #expect(host.count("lfs_job WHERE state = 'queued' AND errorCode = 'sourceAbsent'") == 1)
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == Self.absent)
                #expect(await message { _ = try await lfs.contents(of: file) }.contains(location.path))
                try FileManager.default.moveItem(at: aside, to: location)
                #expect(try await read(file, lfs: lfs)?.count == 1_000)
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("An absent store is recreated, and the files of the old one wait")
    func store() async throws {
        try await withHost { host in
            let file = try await leave(host, options: host.options)
            let putBack = try moveStoreAway(host)
            try await withManager(host) { lfs in
                try await waitForTry(host)
                try #expect(host.count("lfs_job WHERE state = 'queued' AND errorCode = 'sourceAbsent'") == 1)
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == Self.absent)
                #expect(await message { _ = try await lfs.contents(of: file) }.contains(host.store.path))
                let other = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try other.insert($0) }
                try await yield(while: host.file(other.id)?.status == .local)
            }
            try putBack()
            try await withManager(host) { lfs in
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("The files of an absent store are uploaded as soon as it is back")
    func storeComesBack() async throws {
        try await withHost { host in
            let file = try await leave(host, options: host.options)
            let putBack = try moveStoreAway(host)
            try await withManager(host) { lfs in
                try await waitForTry(host)
                try putBack()
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("A store that an earlier one replaced is known to be absent")
    func storeBetween() async throws {
        try await withHost { host in
            try await withManager(host) { _ in }
            let putBack = try moveStoreAway(host)
            let file = try await leave(host, options: host.options)
            try putBack()
            for _ in 0..<2 {
                try await withManager(host) { lfs in
                    #expect(await errorCode { _ = try await lfs.contents(of: file) } == Self.absent)
                }
                try #expect(host.count("lfs_job WHERE state = 'failed'") == 0)
            }
        }
    }

    @Test("Opening fails with `folderAbsent` if the location of the options is absent", arguments: [true, false])
    func namedLocation(_ isFolderThere: Bool) async throws {
        try await withHost { host in
            let file = try await leave(host, options: located(host))
            let (location, aside) = (try #require(located(host).persistenceLocation), host.folder.child("aside"))
            try FileManager.default.moveItem(at: location, to: aside)
            // A mount point exists even if its disk does not.
            if isFolderThere {
                try FileManager.default.createDirectory(
                    at: location, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            }
            #expect(await errorCode { try await withManager(host, options: located(host)) { _ in } } == Self.absent)
            #expect(
                await message { try await withManager(host, options: located(host)) { _ in } }.contains(location.path))
            if isFolderThere { try FileManager.default.removeItem(at: location) }
            try FileManager.default.moveItem(at: aside, to: location)
            try await withManager(host, options: located(host)) { lfs in
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("The files of an absent folder are lost only when the app confirms it")
    func goneForGood() async throws {
        try await withHost { host in
            let file = try await leave(host, options: located(host))
            let location = try #require(located(host).persistenceLocation)
            try FileManager.default.removeItem(at: location)
            try FileManager.default.createDirectory(at: location, withIntermediateDirectories: false)
            #expect(await errorCode { try await withManager(host, options: located(host)) { _ in } } == Self.absent)
            try await withManager(host) { lfs in
                let absent = try await lfs.absentFolders()
                #expect(absent.map { $0.url.deletingLastPathComponent().path } == [location.path])
                var verifying = VerifyOptions()
                verifying.repairs = true
                try await #expect(lfs.verify(verifying).lostBytes == 0)
                try #expect(host.count("lfs_job WHERE state = 'failed'") == 0)
                verifying.acceptsEmpty = true
                try await #expect(lfs.verify(verifying).lostBytes == file.byteCount)
                try #expect(host.count("lfs_job WHERE state = 'failed' AND errorCode = 'lost'") == 1)
            }
            try await withManager(host, options: located(host)) { lfs in
                let other = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try other.insert($0) }
                try await lfs.waitForUploads()
                try #expect(host.file(other.id)?.status == .remote)
                try await #expect(lfs.absentFolders().isEmpty)
            }
        }
    }

    @Test("A file that was lost in a present folder fails with `sourceChanged`")
    func loss() async throws {
        try await withHost { host in
            let file = try await leave(host, options: host.options)
            try FileManager.default.removeItem(at: host.temporary.child(file.id.uuidString))
            try await withManager(host) { lfs in
                try await lfs.waitForUploads()
                try #expect(host.count("lfs_job WHERE state = 'failed' AND errorCode = 'sourceChanged'") == 1)
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .bytesMissing)
            }
        }
    }
}
