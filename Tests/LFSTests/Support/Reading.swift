import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import Testing

extension TestHost {
    var incoming: URL { store.appendingPathComponent("incoming") }

    /// What unfinished downloads have left.
    func namesInIncoming() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: incoming.path).sorted()
    }

    /// Leaves the first bytes of a download, as the end of a process does. The layout is that of the guide "On-disk
    /// layout".
    func leavePartial(of file: FileData, _ bytes: some Sequence<UInt8>, tag: String) throws {
        try Data(bytes).write(to: incoming.appendingPathComponent(file.id.uuidString + ".part"))
        try Data(tag.utf8).write(to: incoming.appendingPathComponent(file.id.uuidString + ".tag"))
    }
}

/// Files that are on the storage and not on this device.
func remoteFiles(_ contents: [[UInt8]], _ host: TestHost, _ lfs: LFSManager) async throws -> [FileData] {
    var files: [FileData] = []
    for bytes in contents { files.append(try await lfs.makeFile(from: .bytes(bytes))) }
    let made = files
    try await host.database.write { db in for file in made { try file.insert(db) } }
    try await lfs.waitForUploads()
    for file in files { try await lfs.evict(file.id) }
    return files
}

func remoteFile(_ bytes: [UInt8], _ host: TestHost, _ lfs: LFSManager) async throws -> FileData {
    try await remoteFiles([bytes], host, lfs)[0]
}

/// A storage whose downloads are spoiled for a while, each in the way that it is told.
///
/// Owner of the count: the mutex.
final class SpoilingStorage: StorageWrapper {
    enum Fault: CaseIterable, Sendable {
        /// One bit is another one.
        case flipped
        /// The last byte is missing, and nobody says so.
        case shorter
        /// There is one byte more.
        case longer
        /// A range is answered from the first byte on, and nobody says so.
        case whole
        /// A range is refused.
        case refused
        /// There are no bytes, and nobody says so.
        case empty
    }

    let base: any RemoteStorage
    private let fault: Fault
    private let left: Mutex<Int>
    private let seen = Mutex<[DownloadRequest]>([])

    init(_ base: any RemoteStorage, _ fault: Fault, times: Int) {
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
        if request.range != nil, fault == .refused { throw StorageError(.rangeRefused, "No ranges here.") }
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

/// True for the first who asks. Owner: the mutex.
final class Once: Sendable {
    private let isTaken = Mutex(false)

    func take() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}
