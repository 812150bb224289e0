import LFSStorage

extension StorageConformance {
    /// Checks for uploads to a key that already has an object.
    static let replacingChecks: [StorageCheck] = [
        StorageCheck("an upload replaces the object under its key", uploadReplaces),
        StorageCheck("the same upload twice succeeds", sameUploadTwice),
        StorageCheck("a download with an outdated entity tag fails as changed", outdatedTag),
    ]

    private static func uploadReplaces(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        // Content that is longer, shorter, and of the same size with other bytes.
        for (byteCount, seed) in [(300, 1), (70_000, 2), (12, 3), (12, 4)] as [(Int, UInt64)] {
            let content = TestContent.make(byteCount, seed: seed)
            try await room.succeeding("an upload over another object succeeds") {
                try await room.upload(content, to: key)
            }
            try room.require(try await room.content(of: key) == content, rule: "the object has the new bytes only")
        }
    }

    private static func sameUploadTwice(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(TestContent.chunk + 5)
        for _ in 1...2 {
            let object = try await room.succeeding("an upload of the stored bytes succeeds") {
                try await room.upload(content, to: key)
            }
            try room.require(object.byteCount == Int64(content.count), rule: "both uploads return the size")
        }
        try room.require(try await room.content(of: key) == content, rule: "the object keeps its bytes")
    }

    /// Downloads with an outdated tag. A storage without entity tags passes, because it has nothing to compare.
    private static func outdatedTag(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.upload(TestContent.make(100, seed: 1), to: key)
        guard let tag = try await room.storage.head(key).entityTag else { return }
        let (_, bytes) = try await room.succeeding("a download with the current tag succeeds") {
            try await room.download(DownloadRequest(key, entityTag: tag))
        }
        try room.require(
            bytes == TestContent.make(100, seed: 1), rule: "a download with the current tag returns the bytes")
        try await room.upload(TestContent.make(100, seed: 2), to: key)
        try await room.failing("a download with the former tag fails as changed", with: .changed) {
            try await room.download(DownloadRequest(key, entityTag: tag))
        }
        try await room.failing("so does the download of a range", with: .changed) {
            try await room.download(DownloadRequest(key, range: 10..<20, entityTag: tag))
        }
    }
}
