import Foundation
import GRDB
import LFS
import LFSCache

enum Caching {
    static func show(_ photo: FileData, database: DatabasePool) async throws -> Data {
        // snippet
        let cache = try await MediaCache.open(for: database)
        let id = photo.id.uuidString
        let picture = try await cache.content(for: CacheKey(.thumbnails, name: id), tags: [.asset(id)]) {
            try await makeThumbnail(of: photo)
        }
        // end
        return picture
    }

    static func drop(_ photo: FileData, cache: MediaCache) async throws {
        // snippet
        try await cache.invalidate(.asset(photo.id.uuidString))
        // end
    }

    private static func makeThumbnail(of photo: FileData) async throws -> Data { Data() }
}
