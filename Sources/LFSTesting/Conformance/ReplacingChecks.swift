import LFSStorage

extension StorageConformance {
    /// Uploads to a key that has an object.
    static let replacingChecks: [StorageCheck] = [
        StorageCheck("an upload replaces what was under its key", uploadReplaces),
        StorageCheck("the same upload twice succeeds", sameUploadTwice),
        StorageCheck("a download with an outdated entity tag fails as changed", outdatedTag),
    ]

    private static func uploadReplaces(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        // Longer, shorter, and of the same size but with other bytes.
        for (byteCount, seed) in [(300, 1), (70_000, 2), (12, 3), (12, 4)] as [(Int, UInt64)] {
            let content = TestContent.make(byteCount, seed: seed)
            try await room.succeeding("an upload over another object succeeds") {
                try await room.upload(content, to: key)
            }
            try room.require(try await room.content(of: key) == content, "the object has the new bytes only")
        }
    }

    private static func sameUploadTwice(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(TestContent.chunk + 5)
        for _ in 1...2 {
            let object = try await room.succeeding("an upload of what is there already succeeds") {
                try await room.upload(content, to: key)
            }
            try room.require(object.byteCount == Int64(content.count), "both uploads tell the size")
        }
        try room.require(try await room.content(of: key) == content, "the object keeps its bytes")
    }

    /// A storage without entity tags passes: it has nothing to compare.
    private static func outdatedTag(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.upload(TestContent.make(100, seed: 1), to: key)
        guard let tag = try await room.storage.head(key).entityTag else { return }
        let (_, bytes) = try await room.succeeding("a download with the present tag succeeds") {
            try await room.download(DownloadRequest(key, entityTag: tag))
        }
        try room.require(bytes == TestContent.make(100, seed: 1), "a download with the present tag gives the bytes")
        try await room.upload(TestContent.make(100, seed: 2), to: key)
        try await room.failing("a download with the former tag fails as changed", with: .changed) {
            try await room.download(DownloadRequest(key, entityTag: tag))
        }
        try await room.failing("so does one of a range", with: .changed) {
            try await room.download(DownloadRequest(key, range: 10..<20, entityTag: tag))
        }
    }
}
