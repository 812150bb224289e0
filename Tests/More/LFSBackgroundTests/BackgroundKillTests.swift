import Foundation
import GRDB
import LFS
import LFSBackground
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Killed apps and daemons of background uploads", .serialized, .timeLimit(.minutes(60)))
struct BackgroundKillTests {
    /// The number of runs with a different seed. `LFS_BACKGROUND_SEEDS` changes it.
    private static let seeds = 1...(Int(ProcessInfo.processInfo.environment["LFS_BACKGROUND_SEEDS"] ?? "") ?? 1)
    /// A bound above the number of steps of a run.
    private static let mostSteps = 200

    @Test("An app killed at any step loses nothing and leaves nothing", arguments: seeds)
    private func eachStep(seed: Int) async throws {
        var step = 0
        var isOver = false
        while !isOver, step < Self.mostSteps {
            step += 1
            isOver = try await killed(atStep: step, seed: seed)
        }
        print("Killed at each of \(step - 1) steps, seed \(seed).")
        #expect((15..<Self.mostSteps).contains(step))
    }

    /// - Returns: true if the run was over before the step.
    private func killed(atStep step: Int, seed: Int) async throws -> Bool {
        var isOver = false
        try await BackgroundHost.run { host, store in
            let spool = host.folder.child("spool")
            let session = try SimulatedDaemon.session(spool: spool)
            try await host.launch(with: session) { app in
                _ = try await app.attach(1_000, seed: 1)
                _ = try await app.attach(2_000, seed: 2)
                _ = try await app.attach(2 * StoreServer.partSize + 10, seed: 3)
            }
            var faults = SimulatedDaemon.Faults.all(seed: UInt64(seed * 1_000 + step))
            if step % 3 == 0 { faults.stepsToDeath = 4 + step % 5 }
            try await Self.withDaemon(spool, faults: faults) {
                await Self.launchVictim(host, killedAtStep: step)
                isOver = FileManager.default.fileExists(atPath: host.folder.child("done").path)
                try await Self.checkConfirmations(host)
                try FileManager.default.createDirectory(at: host.outgoing, withIntermediateDirectories: true)
                try Data([1]).write(to: host.outgoing.child("notes.txt"))
                try await host.launch(with: session) { app in
                    try await app.handlingEvents {
                        try await app.database.write { db in
                            try db.execute(sql: "DELETE FROM lfs_file WHERE byteCount = 2000")
                        }
                        try app.lfs.start()
                        try await Self.finish(app)
                    }
                    try await Self.check(host, app: app, count: 2, hasNotes: true)
                }
            }
        }
        return isOver
    }

    @Test("Apps that are killed at any time while a daemon is faulty lose nothing", arguments: seeds)
    private func anyTime(seed: Int) async throws {
        let rounds = 6
        try await BackgroundHost.run { host, store in
            let spool = host.folder.child("spool")
            let session = try SimulatedDaemon.session(spool: spool)
            try await host.launch(with: session) { _ in }
            var generator = SeededGenerator(seed: UInt64(seed))
            var faults = SimulatedDaemon.Faults.all(seed: UInt64(seed))
            faults.stepsToDeath = 25
            try await Self.withDaemon(spool, faults: faults) {
                for _ in 0..<rounds {
                    await Self.launchVictim(host, killedAfter: 100 + generator.next(below: 900))
                    try await Self.checkConfirmations(host)
                }
                try await host.launch(with: session, starts: true) { app in
                    try await app.handlingEvents { try await Self.finish(app) }
                    let count = try await app.count("lfs_file")
                    try await Self.check(host, app: app, count: count, hasNotes: false)
                    print("\(rounds) kills, \(count) files, \(store.puts.count) bodies, seed \(seed).")
                }
            }
        }
    }

    // MARK: Processes

    /// Runs the daemon in other processes, which replace each other when one dies.
    ///
    /// Each process of a test blocks a thread until it ends. Swift's pool has no more threads than the machine has
    /// processors, and the server needs them: so the body and the daemon have other threads.
    private static func withDaemon(
        _ spool: URL, faults: SimulatedDaemon.Faults, _ body: () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(BlockingPool.foreign) {
            async let daemon: Void = serve(spool, faults: faults)
            let result = await Result.catching { try await body() }
            try SimulatedDaemon.stop(spool: spool)
            await daemon
            try result.get()
        }
    }

    private static func serve(_ spool: URL, faults: SimulatedDaemon.Faults) async {
        var faults = faults
        while !FileManager.default.fileExists(atPath: spool.child("stop").path) {
            let (path, present) = (spool.path, faults)
            await #expect(processExitsWith: .failure) {
                [path = path as String, present = present as SimulatedDaemon.Faults] in
                try await SimulatedDaemon(spool: URL(fileURLWithPath: path), faults: present).run()
                exit(1)
            }
            faults.seed += 1
        }
    }

    private static func launchVictim(_ host: BackgroundHost, killedAtStep step: Int = 0, killedAfter delay: Int = 0)
        async
    {
        let (folder, server) = (host.folder.path, host.server.absoluteString)
        await #expect(processExitsWith: .failure) {
            [
                folder = folder as String, server = server as String, step = step as Int, delay = delay as Int
            ] in
            let host = BackgroundHost(
                folder: URL(fileURLWithPath: folder), server: try #require(URL(string: server)))
            if delay > 0 {
                Thread.detachNewThread {
                    usleep(UInt32(delay) * 1_000)
                    kill(getpid(), SIGKILL)
                }
            }
            try await Self.victim(host, killedAtStep: step, attachesFiles: delay > 0)
            try Data().write(to: host.folder.child("done"))
            exit(1)
        }
    }

    /// Hands uploads over, handles events, and uploads what is left.
    private static func victim(_ host: BackgroundHost, killedAtStep step: Int, attachesFiles: Bool) async throws {
        let count = Mutex(0)
        let session = try SimulatedDaemon.session(spool: host.folder.child("spool"))
        try await host.launch(
            with: session,
            configure: { _, limits in
                limits.onStep = { _ in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    if number == step { kill(getpid(), SIGKILL) }
                }
            }
        ) { app in
            try await app.handlingEvents {
                repeat {
                    if attachesFiles {
                        _ = try await app.attach(.random(in: 1...5_000), seed: .random(in: 0 ... .max))
                        _ = try await app.attach(StoreServer.partSize + 1, seed: .random(in: 0 ... .max))
                    }
                    try await app.uploads.handOver()
                    try await yieldAsync { try await lostTasks(app) > 0 }
                } while attachesFiles
                try app.lfs.start()
                try await finish(app)
            }
        }
    }

    /// Ends the loans without a task.
    ///
    /// - Returns: the number of the others.
    private static func lostTasks(_ app: App) async throws -> Int {
        try await app.uploads.refresh()
        return try await app.count("lfs_loan")
    }

    private static func finish(_ app: App) async throws {
        try await yieldAsync { try await lostTasks(app) > 0 }
        try await app.lfs.waitForUploads()
        try await app.lfs.waitForDeletions()
    }

    // MARK: Checks

    /// Requires that each confirmed row has the right object.
    private static func checkConfirmations(_ host: BackgroundHost) async throws {
        let objects = try host.storedObjects()
        let database = try DatabasePool(path: host.databasePath)
        let files = try await database.read { db in try FileData.fetchAll(db) }
        try database.close()
        for file in files where file.status == .remote {
            #expect(objects[file.key].map { SampleBytes.sha256($0) } == file.sha256, "believed without an object")
        }
    }

    private static func check(_ host: BackgroundHost, app: App, count: Int, hasNotes: Bool) async throws {
        let files = try await app.database.read { db in try FileData.fetchAll(db) }
        #expect(files.count == count)
        #expect(files.allSatisfy { $0.status == .remote })
        #expect(try host.partFiles() == (hasNotes ? ["notes.txt"] : []), "a copy of a part is left")
        try await checkConfirmations(host)
        let objects = try host.storedObjects()
        #expect(Set(objects.keys) == Set(files.map(\.key)), "no object is lost, left over or under a second key")
        for table in ["lfs_loan", "lfs_job", "lfs_tombstone"] { #expect(try await app.count(table) == 0, "\(table)") }
    }
}

extension SimulatedDaemon.Faults {
    /// All faults except death.
    fileprivate static func all(seed: UInt64) -> Self {
        var faults = Self(seed: seed)
        faults.lateShare = 0.3
        faults.repeatedShare = 0.3
        faults.lostShare = 0.2
        faults.lyingShare = 0.2
        return faults
    }
}
