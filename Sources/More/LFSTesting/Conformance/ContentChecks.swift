import Foundation
import LFSStorage
import Synchronization

extension StorageConformance {
    /// Checks that stored content is returned unchanged.
    static let contentChecks: [StorageCheck] = [
        StorageCheck("an empty file is downloaded unchanged") { try await roundTrip(0, room: $0) },
        StorageCheck("a file of one byte is downloaded unchanged") { try await roundTrip(1, room: $0) },
        StorageCheck("a file of a little more than one chunk is downloaded unchanged") {
            try await roundTrip(TestContent.chunk + 1, room: $0)
        },
        StorageCheck("a file of three megabytes is downloaded unchanged") {
            try await roundTrip(3 * 1_024 * 1_024 + 17, room: $0)
        },
        StorageCheck("bytes that a function reads are stored like a file", fromFunction),
        StorageCheck("an object's URL contains no query, no user and no password", urlHoldsNoSecret),
        StorageCheck("progress never decreases and ends at the size", progressEndsAtSize),
        StorageCheck("an upload returns the SHA-256 if the storage states that it proves checksums", checksumIsTold),
        StorageCheck("a download reports the object's entity tag before its first byte", tagComesFirst),
        StorageCheck("an error of the sink is thrown unchanged and ends the download", sinkErrorComesOut),
    ]

    private static func roundTrip(_ byteCount: Int, room: CheckRoom) async throws {
        let content = TestContent.make(byteCount)
        let key = try room.key("content")
        let uploaded = try await room.succeeding("the upload succeeds") { try await room.upload(content, to: key) }
        try requireDescription(uploaded, key: key, content: content, by: "an upload", room: room)
        let described = try await room.succeeding("the uploaded object can be described") {
            try await room.storage.head(key)
        }
        try requireDescription(described, key: key, content: content, by: "head", room: room)
        let (object, bytes) = try await room.succeeding("the uploaded object can be downloaded") {
            try await room.download(DownloadRequest(key))
        }
        try requireDescription(object, key: key, content: content, by: "a download", room: room)
        try room.require(bytes == content, rule: "the bytes arrive in order, once each")
    }

    /// Uploads from a function that returns slightly fewer bytes than requested, as it may.
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
            try requireDescription(object, key: key, content: content, by: "an upload", room: room)
            try room.require(try await room.content(of: key) == content, rule: "the bytes arrive in order, once each")
        }
    }

    private static func requireDescription(
        _ object: RemoteObject, key: ObjectKey, content: [UInt8], by call: String, room: CheckRoom
    ) throws {
        try room.require(object.key == key, rule: "\(call) describes the requested key")
        try room.require(object.byteCount == Int64(content.count), rule: "\(call) returns the size")
        let sha256 = TestContent.sha256(content)
        try room.require(object.sha256 ?? sha256 == sha256, rule: "\(call) returns the right SHA-256 or none")
    }

    /// Checks the checksum. A storage that only confirms the number of bytes passes.
    private static func checksumIsTold(_ room: CheckRoom) async throws {
        guard room.storage.capabilities.proof == .checksum else { return }
        let key = try room.key("content")
        for (byteCount, seed) in [(0, 1), (1_000, 2), (TestContent.chunk + 1, 3)] as [(Int, UInt64)] {
            let content = TestContent.make(byteCount, seed: seed)
            let object = try await room.upload(content, to: key)
            try room.require(
                object.sha256 == TestContent.sha256(content), rule: "an upload returns the SHA-256 of its bytes")
            try room.require(object.proof == .checksum, rule: "it is proven by a checksum")
        }
    }

    /// Checks the order of tag and bytes. A storage without entity tags passes.
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
            try room.require(tags == [tag], rule: "the sink receives the tag that head returns, once")
            try room.require(bytesBefore == 0, rule: "the sink receives it before the first byte")
            try room.require(object.entityTag ?? tag == tag, rule: "a download describes the same version")
        }
    }

    private static func urlHoldsNoSecret(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let uploaded = try await room.upload([1, 2, 3], to: key)
        for object in [uploaded, try await room.storage.head(key)] {
            try room.require(object.url.query == nil, rule: "the URL has no query")
            try room.require(object.url.user == nil && object.url.password == nil, rule: "the URL names no user")
        }
    }

    private static func progressEndsAtSize(_ room: CheckRoom) async throws {
        let content = TestContent.make(5 * TestContent.chunk + 3)
        let reports = Mutex<[Int64]>([])
        let session = UploadSession(onProgress: { bytes in reports.withLock { $0.append(bytes) } })
        try await room.upload(content, to: try room.key("content"), session: session)
        let seen = reports.withLock { $0 }
        try room.require(
            zip(seen, seen.dropFirst()).allSatisfy { $0 <= $1 }, rule: "no report is lower than the one before")
        try room.require(seen.allSatisfy { $0 >= 0 }, rule: "no report is below zero")
        try room.require(seen.last == Int64(content.count), rule: "the last report is the size")
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
        let rule = "the sink's own error ends the download and is thrown"
        do {
            _ = try await room.storage.download(DownloadRequest(key), into: sink)
            try room.require(false, rule: rule)
        } catch is SinkIsFull {
            try room.require(calls.withLock { $0 } == 1, rule: "the sink is not called again after its error")
        } catch {
            throw room.failure(rule, error: error)
        }
    }
}
