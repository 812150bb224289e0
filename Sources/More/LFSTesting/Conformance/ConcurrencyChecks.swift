import LFSStorage

extension StorageConformance {
    /// Checks for concurrent calls.
    static let concurrencyChecks: [StorageCheck] = [
        StorageCheck("concurrent uploads to one key leave one of them whole", uploadsToOneKey),
        StorageCheck("concurrent uploads to many keys are all kept", uploadsToManyKeys),
        StorageCheck("a reader sees a whole object while it is being replaced", readersSeeWholeObjects),
    ]

    private static func uploadsToOneKey(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let contents = (1...6).map { TestContent.make(2 * TestContent.chunk + Int($0), seed: $0) }
        let stored: [[UInt8]] = try await room.succeeding("an upload fails only when others have replaced its bytes") {
            try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                for content in contents { group.addTask { try await proven(content, key: key, room: room) } }
                return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
            }
        }
        let (object, bytes) = try await room.download(DownloadRequest(key))
        try room.require(stored.contains(bytes), rule: "the object has the bytes of an upload that succeeded")
        try room.require(object.byteCount == Int64(bytes.count), rule: "the object has the size of its bytes")
    }

    /// Uploads the content and returns it. Returns nil if the storage cannot confirm it because another upload has
    /// replaced it.
    private static func proven(_ content: [UInt8], key: ObjectKey, room: CheckRoom) async throws -> [UInt8]? {
        do {
            try await room.upload(content, to: key)
            return content
        } catch let error as StorageError where error.code == .integrity {
            return nil
        }
    }

    private static func uploadsToManyKeys(_ room: CheckRoom) async throws {
        let contents = try (1...20).map { (try room.key("content-\($0)"), TestContent.make(1_000, seed: $0)) }
        try await room.succeeding("every upload succeeds") {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (key, content) in contents { group.addTask { try await room.upload(content, to: key) } }
                try await group.waitForAll()
            }
        }
        for (key, content) in contents {
            try room.require(try await room.content(of: key) == content, rule: "every object has its own bytes")
        }
    }

    private static func readersSeeWholeObjects(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let contents = (1...8).map { TestContent.make(TestContent.chunk + 1_000 * Int($0), seed: $0) }
        try await room.upload(contents[0], to: key)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for content in contents { try await room.upload(content, to: key) }
            }
            for _ in 1...2 {
                group.addTask {
                    for _ in contents {
                        let bytes = try await room.content(of: key)
                        try room.require(
                            bytes.map(contents.contains) ?? false, rule: "a reader gets a whole object, old or new")
                        let byteCount = try await room.storage.head(key).byteCount
                        let isWhole = contents.contains { Int64($0.count) == byteCount }
                        try room.require(isWhole, rule: "head returns the size of a whole object, old or new")
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
