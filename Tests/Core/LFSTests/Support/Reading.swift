import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import Testing

extension TestHost {
    var incoming: URL { store.appendingPathComponent("incoming") }

    /// Returns the names of the files that partial downloads have left.
    func namesInIncoming() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: incoming.path).sorted()
    }

    /// Leaves the first bytes of a download, as the end of a process does. The guide "On-disk layout" describes the
    /// layout.
    func leavePartial(of file: FileData, _ bytes: some Sequence<UInt8>, tag: String) throws {
        try Data(bytes).write(to: incoming.appendingPathComponent(file.id.uuidString + ".part"))
        try Data(tag.utf8).write(to: incoming.appendingPathComponent(file.id.uuidString + ".tag"))
    }
}

/// Returns uploaded files without local copies.
func remoteFiles(_ contents: [[UInt8]], host: TestHost, lfs: LFSManager) async throws -> [FileData] {
    var files: [FileData] = []
    for bytes in contents { files.append(try await lfs.makeFile(from: .bytes(bytes))) }
    let made = files
    try await host.database.write { db in for file in made { try file.insert(db) } }
    try await lfs.waitForUploads()
    for file in files { try await lfs.evict(file.id) }
    return files
}

func remoteFile(_ bytes: [UInt8], host: TestHost, lfs: LFSManager) async throws -> FileData {
    try await remoteFiles([bytes], host: host, lfs: lfs)[0]
}

/// A storage that spoils a number of downloads with a given fault.
///
/// The mutex owns the count.
final class SpoilingStorage: StorageWrapper {
    enum Fault: CaseIterable, Sendable {
        /// A bit is flipped.
        case flipped
        /// The last byte is missing without an error.
        case shorter
        /// A byte is added.
        case longer
        /// A range request returns the whole object without an error.
        case whole
        /// A range request is refused.
        case refused
        /// No bytes are returned, without an error.
        case empty
    }

    let base: any RemoteStorage
    private let fault: Fault
    private let left: Mutex<Int>
    private let seen = Mutex<[DownloadRequest]>([])

    init(_ base: any RemoteStorage, fault: Fault, times: Int) {
        self.base = base
        self.fault = fault
        left = Mutex(times)
    }

    var requests: [DownloadRequest] { seen.withLock { $0 } }

    func spoil(_ times: Int) {
        left.withLock { $0 = times }
        seen.withLock { $0 = [] }
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        seen.withLock { $0.append(request) }
        let isDue = left.withLock { left in
            defer { left = max(left - 1, 0) }
            return left > 0
        }
        guard isDue else { return try await base.download(request, into: sink) }
        var request = request
        if request.range != nil, fault == .refused { throw StorageError(.rangeRefused, message: "No ranges here.") }
        if fault == .whole { request.range = nil }
        let collected = Mutex<[UInt8]>([])
        let object = try await base.download(
            request,
            into: DownloadSink(onBegin: sink.begin(entityTag:)) { bytes in
                collected.withLock { $0 += bytes }
            })
        var bytes = collected.withLock { $0 }
        switch fault {
        case .flipped: bytes[Int.random(in: bytes.indices)] ^= 1 << UInt8.random(in: 0..<8)
        case .shorter: bytes.removeLast()
        case .longer: bytes.append(7)
        case .empty: bytes = []
        case .whole, .refused: break
        }
        try bytes.withUnsafeBytes { try sink.write($0) }
        return object
    }
}

/// A flag that is true for the first caller only. The mutex owns it.
final class Once: Sendable {
    private let isTaken = Mutex(false)

    func take() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}
