import LFSStorage

extension StorageConformance {
    /// Checks for missing and removed objects.
    static let absenceChecks: [StorageCheck] = [
        StorageCheck("a missing object is reported as missing", missingIsReported),
        StorageCheck("removing a missing object succeeds", removingNothing),
        StorageCheck("a removed object is gone", removedIsGone),
        StorageCheck("a removed object can be stored again", storedAgain),
    ]

    private static func missingIsReported(_ room: CheckRoom) async throws {
        let key = try room.key("nothing")
        try await requireMissing(key, room: room)
        // A sibling creates the folder of the key. Storages with real folders handle this case differently.
        try await room.upload([1], to: try room.key("sibling"))
        try await requireMissing(key, room: room)
    }

    private static func requireMissing(_ key: ObjectKey, room: CheckRoom) async throws {
        try await room.failing("head fails as missing", with: .missing) { try await room.storage.head(key) }
        try await room.failing("a download fails as missing", with: .missing) {
            try await room.download(DownloadRequest(key))
        }
    }

    private static func removingNothing(_ room: CheckRoom) async throws {
        let key = try room.key("nothing")
        for _ in 1...2 {
            try await room.succeeding("removing an object that never existed succeeds") {
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
        try await requireMissing(key, room: room)
        let left = try await room.objects(below: room.prefix).joined().map(\.key)
        try room.require(left == [other], rule: "a listing has the other object only")
        try room.require(try await room.content(of: other) == [4, 5, 6], rule: "the other object is untouched")
    }

    private static func storedAgain(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.upload([1, 2, 3], to: key)
        try await room.storage.delete(key, abandoning: nil)
        try await room.succeeding("an upload after a removal succeeds") { try await room.upload([9, 8], to: key) }
        try room.require(try await room.content(of: key) == [9, 8], rule: "the object has the new bytes")
    }
}
