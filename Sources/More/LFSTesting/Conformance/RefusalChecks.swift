import Foundation
import LFSStorage

extension StorageConformance {
    /// Checks for sources that differ from their description.
    static let refusalChecks: [StorageCheck] = [
        StorageCheck("a source whose bytes do not match its checksum is refused and leaves nothing", wrongChecksum),
        StorageCheck("a refused upload leaves the former object untouched", formerObjectStays),
        StorageCheck("a source that lost bytes after it was opened is refused", sourceThatShrank),
        StorageCheck("an unreadable source is not a storage error, and leaves nothing", unreadableSource),
        StorageCheck("a source that got more bytes after it was opened is refused", sourceThatGrew),
    ]

    private static let otherSHA256 = TestContent.sha256([0])

    private static func wrongChecksum(_ room: CheckRoom) async throws {
        for byteCount in [10, 2 * TestContent.chunk] {
            let key = try room.key("content-\(byteCount)")
            let source = try UploadSource.temporary(TestContent.make(byteCount), sha256: otherSHA256)
            try await requireRefusal(of: source, key, room: room)
            try room.require(try await room.content(of: key) == nil, rule: "a refused upload leaves no object")
        }
        let left = try await room.objects(below: room.prefix).joined()
        try room.require(left.isEmpty, rule: "a refused upload leaves nothing that a listing shows")
    }

    private static func formerObjectStays(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let former = TestContent.make(TestContent.chunk + 9, seed: 1)
        try await room.upload(former, to: key)
        let source = try UploadSource.temporary(TestContent.make(former.count, seed: 2), sha256: otherSHA256)
        try await requireRefusal(of: source, key, room: room)
        try room.require(try await room.content(of: key) == former, rule: "the former object has its bytes")
    }

    private static func sourceThatShrank(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(2 * TestContent.chunk)
        let source = try UploadSource.temporary(content) { try $0.truncate(atOffset: UInt64(TestContent.chunk)) }
        try await requireRefusal(of: source, key, room: room)
        try room.require(try await room.content(of: key) == nil, rule: "a refused upload leaves no object")
    }

    private struct DiskHasGone: Error {}

    private static func unreadableSource(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(2 * TestContent.chunk)
        let source = UploadSource(byteCount: Int64(content.count), sha256: TestContent.sha256(content)) {
            buffer, offset in
            let piece = content[Int(offset)..<TestContent.chunk].prefix(buffer.count)
            if piece.isEmpty { throw DiskHasGone() }
            piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return piece.count
        }
        try await room.failing("the upload fails with the source's error", with: .sourceUnreadable) {
            try await room.storage.upload(source, to: key, session: UploadSession())
        }
        try room.require(try await room.content(of: key) == nil, rule: "a refused upload leaves no object")
    }

    /// Uploads from a file that has grown. A storage may also accept the recorded bytes, which are still the beginning
    /// of the file.
    private static func sourceThatGrew(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(1_000)
        let source = try UploadSource.temporary(content) { handle in
            try handle.seekToEnd()
            try handle.write(contentsOf: Data([1, 2, 3]))
        }
        do {
            _ = try await room.storage.upload(source, to: key, session: UploadSession())
        } catch is StorageError {
            try room.require(try await room.content(of: key) == nil, rule: "a refused upload leaves no object")
            return
        }
        try room.require(
            try await room.content(of: key) == content, rule: "no more bytes are stored than were recorded")
    }

    private static func requireRefusal(of source: UploadSource, _ key: ObjectKey, room: CheckRoom) async throws {
        try await room.failing("the upload fails") {
            try await room.storage.upload(source, to: key, session: UploadSession())
        }
    }
}
