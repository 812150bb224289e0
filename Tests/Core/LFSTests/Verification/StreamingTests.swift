import Foundation
import GRDB
import LFS
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import Testing

@Suite("Verification of many files", .timeLimit(.minutes(10)))
struct StreamingTests {
    @Test("A million objects are verified one page at a time with one page ahead")
    func millionObjects() async throws {
        try await withHost { host in
            let namespace = try await host.database.read { db in
                try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state") ?? ""
            }
            let endless = try EndlessStorage(InMemoryStorage(), namespace: namespace, pages: 1_000)
            var options = host.options
            options.storage = endless
            try await withManager(host, options: options, starts: false) { lfs in
                let before = residentBytes()
                let report = try await lfs.verify { _ in
                } onProgress: { progress in
                    endless.consumed(progress.report.objects)
                }
                #expect(report.objects == 1_000_000)
                // The objects are younger than the grace period, so they may belong to rows of another device.
                #expect(report.findings.isEmpty)
                #expect(endless.maxPagesAhead == 2)
                // The entity tags of all objects together have 1 GiB.
                if let before { #expect(endless.maxResidentBytes < before + 300 << 20) }
            }
        }
    }

    @Test("Three thousand rows are matched with the listing without single requests")
    func manyRows() async throws {
        let count = 3_000
        try await withHost(storage: InMemoryStorage()) { host in
            let ids = (0..<count).map { _ in FileID.make() }.sorted()
            let namespace = try await host.database.read { db in
                try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state") ?? ""
            }
            let listing = RowsStorage(InMemoryStorage(), namespace: namespace, ids: ids.map(\.uuidString))
            try await host.database.write { db in
                for id in ids {
                    try db.execute(
                        sql: """
                            INSERT INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                            VALUES (?, 'remote', 'memory:///x', 1, ?, ?, '2026-01-01 00:00:00.000')
                            """,
                        arguments: [id, String(repeating: "0", count: 64), "\(namespace)/\(id)"])
                }
            }
            var options = host.options
            options.storage = listing
            try await withManager(host, options: options, starts: false) { lfs in
                let steps = Mutex<[VerifyProgress]>([])
                let report = try await lfs.verify { _ in
                } onProgress: { step in
                    steps.withLock { $0.append(step) }
                }
                #expect(report.files == count && report.objects == count)
                #expect(report.findings.isEmpty)
                let told = steps.withLock { $0 }
                #expect(told.count >= 6)
                #expect(told.last?.report == report)
                #expect(told.allSatisfy { $0.totalFiles == count })
                let files = told.map(\.report.files)
                #expect(files == files.sorted())
            }
            #expect(listing.heads == 0)
        }
    }
}

/// Returns the resident memory of this process, or nil if the system does not report it.
private func residentBytes() -> Int? {
    guard let text = FileManager.default.contents(atPath: "/proc/self/statm") else { return nil }
    let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * 4_096 } : nil
}

/// A storage that generates a long listing page by page, with objects of 1 KiB each. It records the number of pages
/// ahead and the memory.
///
/// The mutex owns the state.
private final class EndlessStorage: StorageWrapper {
    private struct State {
        var listed = 0
        var consumed = 0
        var maxAhead = 0
        var maxResident = 0
    }

    let base: any RemoteStorage
    private let pages: Int
    private let keys: [ObjectKey]
    private let state = Mutex(State())

    init(_ base: any RemoteStorage, namespace: String, pages: Int) throws {
        self.base = base
        self.pages = pages
        keys = try (0..<1_000).map { _ in try ObjectKey("\(namespace)/\(FileID.make())") }
    }

    var maxPagesAhead: Int { state.withLock { $0.maxAhead } }
    var maxResidentBytes: Int { state.withLock { $0.maxResident } }

    func consumed(_ objects: Int) { state.withLock { $0.consumed = objects / 1_000 } }

    func list(_ request: ListRequest) async throws -> ListPage {
        let number = request.continuation.flatMap(Int.init) ?? 0
        let url = URL(fileURLWithPath: "/")
        let resident = number.isMultiple(of: 50) ? residentBytes() ?? 0 : 0
        state.withLock { state in
            state.listed += 1
            state.maxAhead = max(state.maxAhead, state.listed - state.consumed)
            state.maxResident = max(state.maxResident, resident)
        }
        let objects = keys.map { key in
            RemoteObject(key: key, byteCount: 1, entityTag: String(repeating: "x", count: 1_024), url: url)
        }
        return ListPage(objects: objects, next: number + 1 < pages ? String(number + 1) : nil)
    }
}

/// A storage that lists the objects of the rows and counts the requests for single objects.
private final class RowsStorage: StorageWrapper {
    let base: any RemoteStorage
    private let namespace: String
    private let ids: [String]
    private let asked = Mutex(0)

    init(_ base: any RemoteStorage, namespace: String, ids: [String]) {
        self.base = base
        self.namespace = namespace
        self.ids = ids
    }

    var heads: Int { asked.withLock { $0 } }

    func head(_ key: ObjectKey) async throws -> RemoteObject {
        asked.withLock { $0 += 1 }
        return try await base.head(key)
    }

    func list(_ request: ListRequest) async throws -> ListPage {
        let start = request.continuation.flatMap(Int.init) ?? 0
        let end = min(start + request.limit, ids.count)
        let objects = try ids[start..<end].map { id in
            RemoteObject(
                key: try ObjectKey("\(namespace)/\(id)"), byteCount: 1, url: URL(fileURLWithPath: "/"))
        }
        return ListPage(objects: objects, next: end < ids.count ? String(end) : nil)
    }
}
