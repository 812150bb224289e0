import Foundation
import LFSStorage
import Synchronization

extension StorageConformance {
    /// What goes in comes out.
    static let contentChecks: [StorageCheck] = [
        StorageCheck("an empty file comes back as it went in") { try await roundTrip(0, $0) },
        StorageCheck("a file of one byte comes back as it went in") { try await roundTrip(1, $0) },
        StorageCheck("a file of a little more than one chunk comes back as it went in") {
            try await roundTrip(TestContent.chunk + 1, $0)
        },
        StorageCheck("a file of three megabytes comes back as it went in") {
            try await roundTrip(3 * 1_024 * 1_024 + 17, $0)
        },
        StorageCheck("what a function reads is stored as a file is", fromFunction),
        StorageCheck("an object's URL holds no query, no user and no password", urlHoldsNoSecret),
        StorageCheck("progress never goes back and ends at the size", progressEndsAtSize),
        StorageCheck("an upload names the SHA-256 where the storage says that it proves checksums", checksumIsTold),
        StorageCheck("a download tells the object's entity tag before its first byte", tagComesFirst),
        StorageCheck("an error of the sink comes out unchanged and ends the download", sinkErrorComesOut),
    ]

    private static func roundTrip(_ byteCount: Int, _ room: CheckRoom) async throws {
        let content = TestContent.make(byteCount)
        let key = try room.key("content")
        let uploaded = try await room.succeeding("the upload succeeds") { try await room.upload(content, to: key) }
        try requireDescription(uploaded, key, content, by: "an upload", room)
        let described = try await room.succeeding("what was uploaded can be described") {
            try await room.storage.head(key)
        }
        try requireDescription(described, key, content, by: "head", room)
        let (object, bytes) = try await room.succeeding("what was uploaded can be downloaded") {
            try await room.download(DownloadRequest(key))
        }
        try requireDescription(object, key, content, by: "a download", room)
        try room.require(bytes == content, "the bytes come back in order, once each")
    }

    /// It reads a little less than it is asked for, as a function may.
    private static func fromFunction(_ room: CheckRoom) async throws {
        for byteCount in [0, 1, TestContent.chunk + 1] {
            let content = TestContent.make(byteCount)
            let key = try room.key("content-\(byteCount)")
            let source = UploadSource(byteCount: Int64(byteCount), sha256: TestContent.sha256(content)) {
                buffer, offset in
                let piece = content[Int(offset)...].prefix(buffer.count > 10 ? buffer.count - 7 : buffer.count)
                piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
                return piece.count
            }
            let object = try await room.succeeding("the upload succeeds") {
                try await room.storage.upload(source, to: key, session: UploadSession())
            }
            try requireDescription(object, key, content, by: "an upload", room)
            try room.require(try await room.content(of: key) == content, "the bytes come back in order, once each")
        }
    }

    private static func requireDescription(
        _ object: RemoteObject, _ key: ObjectKey, _ content: [UInt8], by call: String, _ room: CheckRoom
    ) throws {
        try room.require(object.key == key, "\(call) describes the key it was asked for")
        try room.require(object.byteCount == Int64(content.count), "\(call) tells the size")
        let sha256 = TestContent.sha256(content)
        try room.require(object.sha256 ?? sha256 == sha256, "\(call) tells the right SHA-256 or none")
    }

    /// A storage that promises no more than the number of bytes passes.
    private static func checksumIsTold(_ room: CheckRoom) async throws {
        guard room.storage.capabilities.proof == .checksum else { return }
        let key = try room.key("content")
        for (byteCount, seed) in [(0, 1), (1_000, 2), (TestContent.chunk + 1, 3)] as [(Int, UInt64)] {
            let content = TestContent.make(byteCount, seed: seed)
            let object = try await room.upload(content, to: key)
            try room.require(object.sha256 == TestContent.sha256(content), "an upload tells the SHA-256 of its bytes")
            try room.require(object.proof == .checksum, "it is proven by a checksum")
        }
    }

    /// A storage without entity tags passes.
    private static func tagComesFirst(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.upload(TestContent.make(TestContent.chunk + 1), to: key)
        guard let tag = try await room.storage.head(key).entityTag else { return }
        for range in [nil, 5..<100] as [Range<Int64>?] {
            let seen = Mutex<(tags: [String], bytesBefore: Int, bytes: Int)>(([], 0, 0))
            let sink = DownloadSink { tag in
                seen.withLock { seen in
                    seen.tags.append(tag)
                    seen.bytesBefore += seen.bytes
                }
            } _: { bytes in
                seen.withLock { $0.bytes += bytes.count }
            }
            let object = try await room.storage.download(DownloadRequest(key, range: range), into: sink)
            let (tags, bytesBefore, _) = seen.withLock { $0 }
            try room.require(tags == [tag], "the sink is told the tag that head tells, once")
            try room.require(bytesBefore == 0, "it is told before the first byte")
            try room.require(object.entityTag ?? tag == tag, "a download describes the same version")
        }
    }

    private static func urlHoldsNoSecret(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let uploaded = try await room.upload([1, 2, 3], to: key)
        for object in [uploaded, try await room.storage.head(key)] {
            try room.require(object.url.query == nil, "the URL has no query")
            try room.require(object.url.user == nil && object.url.password == nil, "the URL names no user")
        }
    }

    private static func progressEndsAtSize(_ room: CheckRoom) async throws {
        let content = TestContent.make(5 * TestContent.chunk + 3)
        let reports = Mutex<[Int64]>([])
        let session = UploadSession(onProgress: { bytes in reports.withLock { $0.append(bytes) } })
        try await room.upload(content, to: try room.key("content"), session: session)
        let seen = reports.withLock { $0 }
        try room.require(zip(seen, seen.dropFirst()).allSatisfy { $0 <= $1 }, "no report is below the one before")
        try room.require(seen.allSatisfy { $0 >= 0 }, "no report is below zero")
        try room.require(seen.last == Int64(content.count), "the last report is the size")
    }

    private struct SinkIsFull: Error {}

    private static func sinkErrorComesOut(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.upload(TestContent.make(4 * TestContent.chunk), to: key)
        let calls = Mutex(0)
        let sink = DownloadSink { _ in
            calls.withLock { $0 += 1 }
            throw SinkIsFull()
        }
        let rule = "the sink's own error ends the download and comes out of it"
        do {
            _ = try await room.storage.download(DownloadRequest(key), into: sink)
            try room.require(false, rule)
        } catch is SinkIsFull {
            try room.require(calls.withLock { $0 } == 1, "the sink is not called again after its error")
        } catch {
            throw room.failure(rule, error)
        }
    }
}
