import LFSStorage

extension StorageConformance {
    /// What is not there, and what is there no more.
    static let absenceChecks: [StorageCheck] = [
        StorageCheck("what is not there is reported as missing", missingIsReported),
        StorageCheck("removing what is not there succeeds", removingNothing),
        StorageCheck("a removed object is gone", removedIsGone),
        StorageCheck("a removed object can be stored again", storedAgain),
    ]

    private static func missingIsReported(_ room: CheckRoom) async throws {
        let key = try room.key("nothing")
        try await requireMissing(key, room)
        // A sibling makes the folder of the key exist, which is another case for a storage that has folders.
        try await room.upload([1], to: try room.key("sibling"))
        try await requireMissing(key, room)
    }

    private static func requireMissing(_ key: ObjectKey, _ room: CheckRoom) async throws {
        try await room.failing("head fails as missing", with: .missing) { try await room.storage.head(key) }
        try await room.failing("a download fails as missing", with: .missing) {
            try await room.download(DownloadRequest(key))
        }
    }

    private static func removingNothing(_ room: CheckRoom) async throws {
        let key = try room.key("nothing")
        for _ in 1...2 {
            try await room.succeeding("removing what was never there succeeds") {
                try await room.storage.delete(key, abandoning: nil)
            }
        }
        try await room.upload([1], to: key)
        for _ in 1...2 {
            try await room.succeeding("removing twice succeeds") {
                try await room.storage.delete(key, abandoning: nil)
            }
        }
    }

    private static func removedIsGone(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let other = try room.key("other")
        try await room.upload([1, 2, 3], to: key)
        try await room.upload([4, 5, 6], to: other)
        try await room.storage.delete(key, abandoning: nil)
        try await requireMissing(key, room)
        let left = try await room.objects(below: room.prefix).joined().map(\.key)
        try room.require(left == [other], "a listing has the other object only")
        try room.require(try await room.content(of: other) == [4, 5, 6], "the other object is untouched")
    }

    private static func storedAgain(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.upload([1, 2, 3], to: key)
        try await room.storage.delete(key, abandoning: nil)
        try await room.succeeding("an upload after a removal succeeds") { try await room.upload([9, 8], to: key) }
        try room.require(try await room.content(of: key) == [9, 8], "the object has the new bytes")
    }
}
