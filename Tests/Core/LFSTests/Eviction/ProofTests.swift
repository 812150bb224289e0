import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Proofs of eviction", .timeLimit(.minutes(10)))
struct ProofTests {
    /// The state of a random file, described independently of the code that decides.
    private struct Kind {
        var isRemote, hasJob, isPinned, isNamed, isImage: Bool
        /// The time since the last use, in seconds.
        var age: Double
        var byteCount: Int

        init(_ generator: inout SeededGenerator) {
            isRemote = Bool.random(using: &generator)
            hasJob = Int.random(in: 0..<4, using: &generator) == 0
            isPinned = Int.random(in: 0..<4, using: &generator) == 0
            isNamed = Int.random(in: 0..<4, using: &generator) == 0
            isImage = Int.random(in: 0..<4, using: &generator) == 0
            age = Double(Int.random(in: 1...2_000, using: &generator))
            byteCount = Int.random(in: 0...50, using: &generator)
        }

        func mayGo(_ policy: EvictionPolicy, named: Bool, image: Bool) -> Bool {
            guard isRemote, !hasJob, !isPinned, !(named && isNamed), !(image && isImage) else { return false }
            return policy.keepsUsedWithin.map { age >= Double($0.components.seconds) } ?? true
        }
    }

    /// Runs each round twice, with its own number as the seed and with a random seed. A failure names the seed.
    @Test(
        "Eviction takes the least recently used of 1,000 random files that are uploaded", arguments: 0..<4,
        [0, UInt64.random(in: 1 ... .max)])
    func random(_ round: Int, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed &+ UInt64(round))
        let kinds = (0..<1_000).map { _ in Kind(&generator) }
        try await withHost(in: otherFileSystem ?? FileManager.default.temporaryDirectory) { host in
            // The manager does not run, so the states stay unchanged.
            var options = host.options
            let now = Date()
            options.wallClock = { now }
            try await withManager(host, options: options, starts: false) { lfs in
                let files = try await make(kinds, now: now, host: host, lfs: lfs)
                var policy = EvictionPolicy()
                let (named, image) = (round % 2 == 0, round < 2)
                if named { policy.keep { FileData.filter(sql: "name = 'named'") } }
                if image { policy.keepsContentTypes = ["image/*"] }
                policy.keepsUsedWithin = round == 3 ? nil : .seconds(1_000)
                let total = kinds.reduce(0) { $0 + $1.byteCount }
                for budget in [total * 9 / 10, total * 7 / 10, 0] {
                    policy.maxByteCount = Int64(budget)
                    let before = try host.byteCountInStore()
                    let expected = model(
                        files, kinds: kinds, policy: policy, named: named, image: image, excess: before - budget,
                        here: try host.filesInStore())
                    let report = try await lfs.evict(policy)
                    #expect(try host.filesInStore() == expected)
                    let after = try host.byteCountInStore()
                    #expect(report.evicted.byteCount == Int64(before - after))
                    #expect(report.shortfall == Int64(max(0, after - budget)))
                    #expect(report.staying.files == expected.count)
                }
                for (file, kind) in zip(files, kinds) where !kind.isRemote || kind.hasJob || kind.isPinned {
                    try await #expect(lfs.hasLocalCopy(of: file.id))
                }
            }
        }
    }

    private func model(
        _ files: [FileData], kinds: [Kind], policy: EvictionPolicy, named: Bool, image: Bool, excess: Int,
        here: Set<FileID>
    ) -> Set<FileID> {
        var (left, excess) = (here, excess)
        let candidates = zip(files, kinds).filter { file, kind in
            here.contains(file.id) && kind.mayGo(policy, named: named, image: image)
        }
        for (file, kind) in candidates.sorted(by: { ($0.1.age, $1.0.id) > ($1.1.age, $0.0.id) }) where excess > 0 {
            left.remove(file.id)
            excess -= kind.byteCount
        }
        return left
    }

    private func make(_ kinds: [Kind], now: Date, host: TestHost, lfs: LFSManager) async throws -> [FileData] {
        var files: [FileData] = []
        for kind in kinds {
            let type = kind.isImage ? "image/png" : nil
            files.append(
                try await lfs.makeFile(
                    from: .bytes(someBytes(kind.byteCount)), name: kind.isNamed ? "named" : "other", contentType: type))
        }
        let made = files
        try await host.database.write { db in
            for (file, kind) in zip(made, kinds) {
                try file.insert(db)
                try db.execute(
                    sql: "UPDATE lfs_file SET createdAt = ? WHERE id = ?",
                    arguments: [now.addingTimeInterval(-10_000), file.id])
                if kind.isRemote {
                    try db.execute(
                        sql: "UPDATE lfs_file SET status = 'remote', url = 'x:y', proof = 'checksum' WHERE id = ?",
                        arguments: [file.id])
                }
                // A remote file keeps the job of its insertion if an upload has to be repeated.
                if kind.isRemote && !kind.hasJob {
                    try db.execute(sql: "DELETE FROM lfs_job WHERE fileID = ?", arguments: [file.id])
                }
                try db.execute(
                    sql: "INSERT INTO lfs_copy (fileID, lastUsed, isPinned) VALUES (?, ?, ?)",
                    arguments: [
                        file.id, now.addingTimeInterval(-kind.age - 0.5).millisecondsSince1970, kind.isPinned,
                    ])
            }
        }
        for file in files { _ = try lfs.places.promote(try #require(FileID(file.id.uuidString))) }
        return files
    }

    // MARK: Power failures

    /// Returns a pool that reports each statement when it begins.
    private func tracedPool(
        _ host: TestHost, _ onStatement: @escaping @Sendable (String) -> Void
    ) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.busyMode = .timeout(600)
        configuration.prepareDatabase { db in
            if db.configuration.readonly { return }
            db.trace(options: .statement) { onStatement("\($0)") }
        }
        return try DatabasePool(path: host.databasePath, configuration: configuration)
    }

    @Test("Copies are deleted only after a commit with synchronous = FULL")
    func barrier() async throws {
        try await withHost { host in
            let statements = Heard<(sql: String, files: Int)>()
            let pool = try tracedPool(host) { sql in
                statements.add((sql, (try? host.filesInStore().count) ?? -1))
            }
            try await withManager(host, on: pool) { lfs in
                let traced = TestHost(folder: host.folder, database: pool, storage: host.storage)
                for frees in [true, false] {
                    let files = try await keptFiles(3, host: traced, lfs: lfs)
                    let count = statements.values.count
                    if frees {
                        try await lfs.evict(EvictionPolicy(maxByteCount: 0))
                    } else {
                        for file in files { try await lfs.evict(file.id) }
                    }
                    let seen = statements.values[count...].drop { $0.sql != "PRAGMA synchronous = FULL" }
                    let commit = try #require(seen.firstIndex { $0.sql == "COMMIT TRANSACTION" })
                    #expect(seen[...commit].contains { $0.sql.hasPrefix("UPDATE lfs_state SET barrier") })
                    #expect(!seen[...commit].contains { $0.sql == "PRAGMA synchronous = 1" })
                    #expect(seen[...commit].allSatisfy { $0.files == 3 })
                    // The next statement shows that the files also existed at the end of the commit.
                    #expect(seen[seen.index(after: commit)].files == 3)
                    #expect(try host.filesInStore().isEmpty)
                }
            }
            try pool.close()
        }
    }

    // MARK: Races

    enum Change: CaseIterable {
        case insertedAgain, replaced, pinned, deleted, queued
    }

    @Test("A change of the row between the two checks of an eviction is respected", arguments: Change.allCases)
    func between(_ change: Change) async throws {
        try await withHost { host in
            let isArmed = Heard<FileData>()
            let once = Once()
            let box = Heard<DatabasePool>()
            let ended = Heard<Bool>()
            let pool = try tracedPool(host) { sql in
                // The writer runs the first check, so this write comes directly after it.
                guard sql.hasPrefix("UPDATE lfs_state SET barrier"), let file = isArmed.values.first, once.take() else {
                    return
                }
                box.values[0].asyncWrite { db in
                    switch change {
                    case .insertedAgain:
                        try file.delete(db)
                        try file.insert(db)
                    case .replaced: try file.insert(db, onConflict: .replace)
                    case .pinned:
                        try db.execute(
                            sql: "INSERT INTO lfs_copy (fileID, isPinned) VALUES (?, 1)", arguments: [file.id])
                    case .deleted: try file.delete(db)
                    case .queued:
                        try db.execute(
                            sql: "INSERT INTO lfs_job (fileID, lane, byteCount, notBefore) VALUES (?, 0, 1000, 0)",
                            arguments: [file.id])
                    }
                } completion: { _, result in
                    if case .success = result { ended.add(true) }
                }
            }
            box.add(pool)
            let traced = TestHost(folder: host.folder, database: pool, storage: host.storage)
            try await withManager(host, on: pool) { lfs in
                let bytes = someBytes()
                let file = try await lfs.makeFile(from: .bytes(bytes))
                try await pool.write { db in try file.insert(db) }
                try await lfs.waitForUploads()
                isArmed.add(file)
                let code = await errorCode { try await lfs.evict(file.id) }
                #expect(ended.values.count == 1)
                switch change {
                case .insertedAgain, .queued: #expect(code == .notUploaded)
                case .pinned: #expect(code == .pinned)
                case .deleted: #expect(code == .unknownFile)
                case .replaced: #expect(code == nil, "an update keeps the location of the file")
                }
                try await lfs.waitForUploads()
                try await lfs.waitForDeletions()
                try await #expect(lfs.hasLocalCopy(of: file.id) == (change != .replaced && change != .deleted))
                if change != .deleted {
                    #expect(try traced.file(file.id)?.status == .remote)
                    try await #expect(read(file, lfs: lfs) == bytes)
                }
            }
            try pool.close()
        }
    }

    @Test("Two concurrent evictions both reach the byte limit and lose no file")
    func two() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(60, host: host, lfs: lfs)
            let evicted = Heard<EvictedCopy>()
            async let one = lfs.evict(EvictionPolicy(maxByteCount: 20_000))
            async let other = lfs.evict(EvictionPolicy(maxByteCount: 20_000)) { evicted.add($0) }
            let reports = try await [one, other]
            #expect(reports.allSatisfy { $0.shortfall == 0 })
            #expect(evicted.values.count == reports[1].evicted.files)
            #expect(Set(evicted.values.map(\.id)).isSubset(of: files.map(\.id)))
            #expect(try host.filesInStore().count <= 20)
            for file in files { try await #expect(read(file, lfs: lfs)?.count == 1_000) }
        }
    }
}
