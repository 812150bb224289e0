import Foundation
import GRDB
import LFS
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport

/// A host whose remote storage is a folder, so that a test can place anything in it.
struct CheckedHost: Sendable {
    let host: TestHost
    let remote: URL
    let storage: CheckedStorage

    var options: LFSOptions { host.options }

    func namespace() throws -> String {
        try host.database.read { try String.fetchOne($0, sql: "SELECT namespace FROM lfs_state") ?? "" }
    }

    // MARK: New files

    /// Returns uploaded files with local copies, in the order of their ids.
    func uploaded(_ count: Int, byteCount: Int = 1_000) async throws -> [FileData] {
        try await withManager(host, options: options) { lfs in
            let files = try await insert(count, byteCount: byteCount, lfs: lfs)
            try await lfs.waitForUploads()
            return files
        }
    }

    /// Returns files in the local store that wait for their upload.
    func pending(_ count: Int, byteCount: Int = 1_000) async throws -> [FileData] {
        try await withManager(host, options: options) { lfs in
            lfs.pause()
            let files = try await insert(count, byteCount: byteCount, lfs: lfs)
            try await yield(while: files.contains(where: { try !host.filesInStore().contains($0.id) }))
            return files
        }
    }

    private func withManager(
        _ host: TestHost, options: LFSOptions, _ body: (LFSManager) async throws -> [FileData]
    ) async throws -> [FileData] {
        var files: [FileData] = []
        try await LFSTests.withManager(host, options: options) { files = try await body($0) }
        return files
    }

    private func insert(_ count: Int, byteCount: Int, lfs: LFSManager) async throws -> [FileData] {
        var files: [FileData] = []
        for _ in 0..<count { files.append(try await lfs.makeFile(from: .bytes(someBytes(byteCount)))) }
        let made = files
        try await host.database.write { db in for file in made { try file.insert(db) } }
        return files
    }

    // MARK: Damage

    func local(_ id: FileID) -> URL { host.store.appendingPathComponent(id.uuidString) }
    func object(_ file: FileData) -> URL { remote.appendingPathComponent(file.key) }

    /// Replaces the content of a file. Nil removes the file.
    func plant(_ bytes: [UInt8]?, at url: URL) throws {
        if FileManager.default.fileExists(atPath: url.path) { try FileManager.default.removeItem(at: url) }
        guard let bytes else { return }
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    // MARK: Inspection

    /// Returns all rows, local files and objects. Two equal snapshots mean that nothing has changed.
    func snapshot() throws -> [String: String] {
        var found: [String: String] = [:]
        for folder in [host.store, remote] {
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
                let url = folder.appendingPathComponent(name)
                guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true, name != "lfs.json"
                else { continue }
                let bytes = try Data(contentsOf: url)
                found[url.path] = bytes.withUnsafeBytes { ContentHash.hex(ofBytes: $0) }
            }
        }
        for table in ["lfs_file", "lfs_job", "lfs_tombstone", "lfs_location"] {
            let rows = try host.database.read { try Row.fetchAll($0, sql: "SELECT * FROM \(table) ORDER BY 1") }
            for (index, row) in rows.enumerated() { found["\(table) \(index)"] = row.description }
        }
        return found
    }

    /// Verifies with all checks and no grace period, and returns the reported findings.
    func verify(
        _ lfs: LFSManager, repairs: Bool = false, configure: (inout VerifyOptions) -> Void = { _ in }
    ) async throws -> (report: VerifyReport, findings: [VerifyFinding]) {
        try await lfs.verified { options in
            options.checksContent = true
            options.repairs = repairs
            options.localGracePeriod = .zero
            configure(&options)
        }
    }
}

/// The identity of a finding, for comparing whole runs.
struct Told: Hashable, CustomStringConvertible {
    let kind: VerifyFinding.Kind
    let id: FileID?
    let repair: VerifyFinding.Repair?

    init(_ kind: VerifyFinding.Kind, id: FileID?, repair: VerifyFinding.Repair?) {
        self.kind = kind
        self.id = id
        self.repair = repair
    }

    init(_ finding: VerifyFinding) { self.init(finding.kind, id: finding.fileID, repair: finding.repair) }

    var description: String { "\(kind) \(id?.uuidString.suffix(6) ?? "-") \(repair?.rawValue ?? "-")" }
}

func withCheckedHost(_ body: (CheckedHost) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        let remote = folder.appendingPathComponent("remote")
        let storage = CheckedStorage(try DirectoryStorage(at: remote))
        try await withHost(storage: storage) { host in
            try await body(CheckedHost(host: host, remote: remote, storage: storage))
        }
    }
}

/// A folder that reports the checksums of its objects and lets a test act before and after its calls.
///
/// The mutex owns the state.
final class CheckedStorage: StorageWrapper {
    typealias Step = @Sendable (_ key: String) async throws -> Void

    private struct State {
        var beforeHead: Step = { _ in }
        var afterHead: Step = { _ in }
        var afterList: Step = { _ in }
        var heads = 0
        var lists = 0
        var reversesLists = false
    }

    let directory: DirectoryStorage
    var base: any RemoteStorage { directory }
    private let state = Mutex(State())

    init(_ directory: DirectoryStorage) { self.directory = directory }

    var heads: Int { state.withLock { $0.heads } }

    func beforeHead(_ step: @escaping Step) { state.withLock { $0.beforeHead = step } }
    func afterHead(_ step: @escaping Step) { state.withLock { $0.afterHead = step } }
    func afterList(_ step: @escaping Step) { state.withLock { $0.afterList = step } }
    func reverseLists() { state.withLock { $0.reversesLists = true } }

    func head(_ key: ObjectKey) async throws -> RemoteObject {
        let (before, after) = state.withLock { state in
            state.heads += 1
            return (state.beforeHead, state.afterHead)
        }
        try await before(key.rawValue)
        let answer: Result<RemoteObject, any Error>
        do {
            answer = .success(try telling(try await directory.head(key)))
        } catch {
            answer = .failure(error)
        }
        try await after(key.rawValue)
        return try answer.get()
    }

    func list(_ request: ListRequest) async throws -> ListPage {
        var page = try await directory.list(request)
        page.objects = try page.objects.map(telling)
        if state.withLock({ $0.reversesLists }) { page.objects.reverse() }
        try await state.withLock { $0.afterList }(request.prefix)
        return page
    }

    private func telling(_ object: RemoteObject) throws -> RemoteObject {
        var object = object
        let url = directory.url.appendingPathComponent(object.key.rawValue)
        guard FileManager.default.fileExists(atPath: url.path) else { return object }
        object.sha256 = try Data(contentsOf: url).withUnsafeBytes { ContentHash.hex(ofBytes: $0) }
        return object
    }
}

extension ContentHash {
    fileprivate static func hex(ofBytes bytes: UnsafeRawBufferPointer) -> String {
        var hash = ContentHash()
        hash.update(bytes)
        return hash.hex
    }
}
