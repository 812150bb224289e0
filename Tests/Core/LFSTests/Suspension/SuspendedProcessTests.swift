import Foundation
import GRDB
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Suspended processes", .serialized, .timeLimit(.minutes(60)))
struct SuspendedProcessTests {
    // MARK: Two processes

    @Test("Another process takes every lock of a suspended one, and uploads its files")
    func secondProcess() async throws {
        try await withTemporaryFolder { folder in
            let app = try ProcessHost(folder)
            let lfs = try await app.open()
            try lfs.start()
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await app.database.write { try file.insert($0) }
            // The lock of the uploader is taken in the background.
            try await yield(while: LockFiles(below: folder).held.count < LockFiles.count)
            // The number of lock files shows that the other process looks at the right ones.
            await #expect(processExitsWith: .exitCode(Int32(LockFiles.count))) { [path = folder.path as String] in
                exit(Int32(try LockFiles(below: URL(fileURLWithPath: path)).held.count))
            }
            try await lfs.suspend()
            await #expect(processExitsWith: .exitCode(10 + Int32(LockFiles.count))) { [path = folder.path as String] in
                let folder = URL(fileURLWithPath: path)
                let locks = try LockFiles(below: folder)
                guard locks.held.isEmpty else { exit(1) }
                for lock in locks.taken { try lock.unlock() }
                let app = try ProcessHost(folder)
                let lfs = try await app.open()
                try lfs.start()
                try await lfs.waitForUploads()
                guard try LockFiles(below: folder).held.count == LockFiles.count else { exit(2) }
                try await lfs.stop()
                exit(10 + Int32(locks.taken.count))
            }
            try #expect(app.file(file.id)?.status == .remote)
            try await lfs.resumeFromSuspension()
            lfs.resume()
            try await lfs.waitForUploads()
            try #expect(app.storage.versionCounts().values.allSatisfy { $0 == 1 })
            try await lfs.stop()
            try app.database.close()
        }
    }

    // MARK: Random rounds

    /// The number of rounds. `LFS_SUSPENSION_ROUNDS` sets another one, and `LFS_SUSPENSION_SEED` another series.
    private static let rounds = number("LFS_SUSPENSION_ROUNDS") ?? 30
    private static let seed = number("LFS_SUSPENSION_SEED") ?? 1

    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    /// Two processes share a database. Both suspend and resume their managers at random, and one of them is killed in
    /// each round.
    @Test("Random suspensions, resumptions and kills lose no file and upload none twice")
    func randomRounds() async throws {
        var random = SeededGenerator(seed: UInt64(Self.seed))
        try await withTemporaryFolder { folder in
            let app = try ProcessHost(folder)
            let lfs = try await app.open()
            try lfs.start()
            var suspensions = 0
            for round in 0..<Self.rounds {
                let (path, seed) = (folder.path, random.next(below: 1 << 30))
                let delay = 1_000 + random.next(below: 60_000)
                let isOver = Latch()
                async let killed: Void = {
                    await #expect(processExitsWith: .signal(SIGKILL), "seed \(Self.seed), round \(round)") {
                        [path = path as String, seed = seed as Int, delay = delay as Int] in
                        try await Self.victim(URL(fileURLWithPath: path), seed: seed, killedAfter: delay)
                    }
                    isOver.open()
                }()
                while !isOver.isOpen {
                    try await lfs.suspend(finishingWithin: .milliseconds(random.next(below: 5)))
                    try #expect(OwnLocks.count(below: folder) == 0, "seed \(Self.seed), round \(round)")
                    suspensions += 1
                    await isOver.wait(atMost: .milliseconds(random.next(below: 60)), clock: ContinuousClock())
                    try await lfs.resumeFromSuspension()
                    let file = try await app.insertFile(lfs)
                    try app.log(file.id)
                    await isOver.wait(atMost: .milliseconds(random.next(below: 60)), clock: ContinuousClock())
                }
                await killed
            }
            try await lfs.waitForUploads()
            try await lfs.stop()
            // Moves files whose process was killed between commit and promotion.
            try await app.open().stop()
            let files = try app.requireEverything("seed \(Self.seed)")
            print("suspensions: \(suspensions) and those of \(Self.rounds) killed processes, files: \(files)")
            try app.database.close()
        }
    }

    /// Inserts files, suspends and resumes until the process is killed.
    private static func victim(_ folder: URL, seed: Int, killedAfter delay: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let app = try ProcessHost(folder)
        let lfs = try await app.open()
        Thread.detachNewThread {
            usleep(UInt32(delay))
            kill(getpid(), SIGKILL)
        }
        if random.next(below: 3) == 0 { try await lfs.suspend() }
        try lfs.start()
        while true {
            switch random.next(below: 4) {
            case 0:
                try await lfs.suspend(finishingWithin: .milliseconds(random.next(below: 5)))
                guard try OwnLocks.count(below: folder) == 0 else { exit(1) }
                usleep(UInt32(random.next(below: 10_000)))
            case 1: try await lfs.resumeFromSuspension()
            default:
                guard !lfs.isSuspended else { continue }
                let file = try await app.insertFile(lfs)
                try app.log(file.id)
            }
        }
    }
}

/// An app in a folder that several processes share, with a log of the files whose rows were committed.
private struct ProcessHost {
    let folder: URL
    let database: DatabasePool
    let storage: RecordingStorage
    private let committed: FileHandle

    init(_ folder: URL) throws {
        self.folder = folder
        database = try TestHost.open(folder.appendingPathComponent("recipes.sqlite").path)
        try TestHost.migrator.migrate(database)
        storage = try RecordingStorage(in: folder)
        let log = appendingDescriptor(folder.appendingPathComponent("committed").path)
        committed = FileHandle(fileDescriptor: log, closeOnDealloc: true)
    }

    private var host: TestHost { TestHost(folder: folder, database: database, storage: storage) }

    func open() async throws -> LFSManager {
        try await LFSManager.open(database, options: try host.optionsWithLocation())
    }

    func file(_ id: FileID) throws -> FileData? { try host.file(id) }

    func insertFile(_ lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .bytes(someBytes(Int.random(in: 1...200_000))))
        try await database.write { try file.insert($0) }
        return file
    }

    func log(_ id: FileID) throws { try committed.write(contentsOf: Data("\(id.uuidString)\n".utf8)) }

    /// Expects that every committed file was uploaded once with its bytes, and that nothing else is left. Returns the
    /// number of files.
    func requireEverything(_ comment: Comment) throws -> Int {
        let log = try String(contentsOf: folder.appendingPathComponent("committed"), encoding: .utf8)
        let files = try database.read { try FileData.fetchAll($0) }
        let ids = Set(files.map(\.id.uuidString))
        #expect(log.split(separator: "\n").filter { !ids.contains(String($0)) } == [], comment)
        for file in files {
            #expect(file.status == .remote, comment)
            let object = folder.appendingPathComponent("remote/\(file.key)")
            var hash = ContentHash()
            try Data(contentsOf: object).withUnsafeBytes { hash.update($0) }
            #expect(hash.hex == file.sha256, comment)
        }
        try #expect(storage.versionCounts().filter { $0.value != 1 } == [:], comment)
        try #expect(storage.objectCount() == files.count, comment)
        try #expect(host.filesInStore() == Set(files.map(\.id)), comment)
        return files.count
    }
}

private func appendingDescriptor(_ path: String) -> Int32 { open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600) }

/// The file locks of this process.
private enum OwnLocks {
    /// Returns the number of locks that this process holds on files below a folder, and 0 where the system does not
    /// list them.
    static func count(below folder: URL) throws -> Int {
        #if os(Linux)
        let path = folder.resolvingSymlinksInPath().path
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").count { number in
            // A descriptor may be closed after the listing.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"),
                target.hasPrefix(path),
                let information = try? String(contentsOfFile: "/proc/self/fdinfo/\(number)", encoding: .utf8)
            else { return false }
            return information.contains("FLOCK")
        }
        #else
        return 0
        #endif
    }
}
