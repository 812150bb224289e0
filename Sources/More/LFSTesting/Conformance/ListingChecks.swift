import LFSStorage

extension StorageConformance {
    /// Checks for listings.
    static let listingChecks: [StorageCheck] = [
        StorageCheck("a listing contains the objects of its prefix and no others", listingOfPrefix),
        StorageCheck("a listing of a prefix without objects is empty", listingOfNothing),
        StorageCheck("a listing is in the order of the keys' bytes", listingOrder),
        StorageCheck("the pages of a listing keep to their limit and contain every object once", listingPages),
    ]

    /// The names in the order of their bytes, which differs from the order of a walk through folders. No key is a
    /// folder of another one, because a storage with real folders could not hold both.
    private static let names = ["a-b", "a.b", "a/b", "a/c", "a0", "a_b", "aa", "b"]

    private static func fill(_ room: CheckRoom) async throws -> [ObjectKey] {
        for name in names.reversed() { try await room.upload(Array(name.utf8), to: try room.key("list/" + name)) }
        return try names.map { try room.key("list/" + $0) }
    }

    private static func listingOfPrefix(_ room: CheckRoom) async throws {
        let all = try await fill(room)
        try await room.upload([1], to: try room.key("lists"))
        try await room.upload([1], to: try room.key("elsewhere/list"))
        let found = try await room.objects(below: room.prefix + "list/").joined()
        try room.require(
            Set(found.map(\.key)) == Set(all), rule: "a listing contains the keys that begin with its prefix")
        let sizes = zip(
            found.map(\.byteCount), found.map { Int64($0.key.rawValue.utf8.count) - Int64(room.prefix.count) - 5 })
        try room.require(sizes.allSatisfy { $0 == $1 }, rule: "a listing returns each object's size")
        let below = try await room.objects(below: room.prefix + "list/a/").joined().map(\.key)
        try room.require(
            Set(below) == Set([all[2], all[3]]), rule: "a longer prefix returns the keys that begin with it")
        let partial = try await room.objects(below: room.prefix + "list/a").joined().map(\.key)
        try room.require(Set(partial) == Set(all.dropLast()), rule: "a prefix need not end at a slash")
    }

    private static func listingOfNothing(_ room: CheckRoom) async throws {
        let page = try await room.succeeding("a listing of nothing succeeds") {
            try await room.storage.list(ListRequest(prefix: room.prefix + "nothing/"))
        }
        try room.require(page.objects.isEmpty && page.next == nil, rule: "a listing of nothing is one empty page")
    }

    private static func listingOrder(_ room: CheckRoom) async throws {
        let all = try await fill(room)
        let found = try await room.objects(below: room.prefix + "list/").joined().map(\.key)
        try room.require(found == all, rule: "the keys are in the order of their bytes")
    }

    private static func listingPages(_ room: CheckRoom) async throws {
        let all = try await fill(room)
        for limit in [1, 2, names.count, names.count + 1] {
            let pages = try await room.objects(below: room.prefix + "list/", limit: limit)
            try room.require(pages.allSatisfy { $0.count <= limit }, rule: "a page holds at most \(limit) objects")
            try room.require(
                pages.joined().map(\.key) == all, rule: "pages of \(limit) contain every object once, in order")
        }
    }
}
