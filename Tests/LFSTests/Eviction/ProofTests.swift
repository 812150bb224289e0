import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("What is freed is proven to be on the storage", .timeLimit(.minutes(10)))
struct ProofTests {
    /// What a random file is like, told apart from the code that decides.
    private struct Kind {
        var isRemote, hasJob, isPinned, isNamed, isImage: Bool
        /// Seconds before now.
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

    /// Each round twice: with its own number as the seed, and with one that nobody has tried; a failure names it.
    @Test(
        "and the least recently used, among 1,000 files of random states", arguments: 0..<4,
        [0, UInt64.random(in: 1 ... .max)])
    func random(_ round: Int, _ seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed &+ UInt64(round))
        let kinds = (0..<1_000).map { _ in Kind(&generator) }
        try await withHost(in: otherFileSystem ?? FileManager.default.temporaryDirectory) { host in
            // It does not run, so the states stay as they are made.
            var options = host.options
            let now = Date()
            options.wallClock = { now }
            try await withManager(host, options, starts: false) { lfs in
                let files = try await make(kinds, now, host, lfs)
                var policy = EvictionPolicy()
                let (named, image) = (round % 2 == 0, round < 2)
                if named { policy.keep { FileData.filter(sql: "name = 'named'") } }
                if image { policy.keepsContentTypes = ["image/*"] }
                policy.keepsUsedWithin = round == 3 ? nil : .seconds(1_000)
                let total = kinds.reduce(0) { $0 + $1.byteCount }
                for budget in [total * 9 / 10, total * 7 / 10, 0] {
                    policy.maxByteCount = Int64(budget)
                    let before = try host.byteCountInStore()
                    let expected = model(files, kinds, policy, named, image, before - budget, try host.filesInStore())
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
        _ files: [FileData], _ kinds: [Kind], _ policy: EvictionPolicy, _ named: Bool, _ image: Bool, _ excess: Int,
        _ here: Set<FileID>
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

    private func make(_ kinds: [Kind], _ now: Date, _ host: TestHost, _ lfs: LFSManager) async throws -> [FileData] {
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
                // One that was queued when it was inserted, as when an upload has to be done again.
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

    // MARK: Power cuts

    /// A pool whose statements are told as they begin.
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

    @Test("No name goes before a commit with synchronous = FULL has ended")
    func barrier() async throws {
        try await withHost { host in
            let statements = Heard<(sql: String, files: Int)>()
            let pool = try tracedPool(host) { sql in
                statements.add((sql, (try? host.filesInStore().count) ?? -1))
            }
            try await withManager(host, on: pool) { lfs in
                let traced = TestHost(folder: host.folder, database: pool, storage: host.storage)
                for frees in [true, false] {
                    let files = try await keptFiles(3, traced, lfs)
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
                    // The next statement shows that it was so at the end of the commit as well.
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

    @Test("What happens to the row between the two looks counts", arguments: Change.allCases)
    func between(_ change: Change) async throws {
        try await withHost { host in
            let isArmed = Heard<FileData>()
            let once = Once()
            let box = Heard<DatabasePool>()
            let ended = Heard<Bool>()
            let pool = try tracedPool(host) { sql in
                // The writer is busy with the first look, so this comes right behind it.
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
                case .replaced: #expect(code == nil, "it is an update, and the file is where it was")
                }
                try await lfs.waitForUploads()
                try await lfs.waitForDeletions()
                try await #expect(lfs.hasLocalCopy(of: file.id) == (change != .replaced && change != .deleted))
                if change != .deleted {
                    #expect(try traced.file(file.id)?.status == .remote)
                    try await #expect(read(file, lfs) == bytes)
                }
            }
            try pool.close()
        }
    }

    @Test("Two who free at once free each copy once")
    func two() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(60, host, lfs)
            let told = Heard<EvictedCopy>()
            async let one = lfs.evict(EvictionPolicy(maxByteCount: 20_000))
            async let other = lfs.evict(EvictionPolicy(maxByteCount: 20_000)) { told.add($0) }
            let reports = try await [one, other]
            #expect(reports.allSatisfy { $0.shortfall == 0 })
            #expect(try host.filesInStore().count <= 20)
            for file in files { try await #expect(read(file, lfs)?.count == 1_000) }
        }
    }
}
