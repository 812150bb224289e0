import Foundation
import LFSStorage
import LFSSystem
import Synchronization

/// Goes through the folders below the storage's own, one request for each.
struct FolderWalk: Sendable {
    let client: WebDAVClient
    let request: ListRequest

    /// The first objects of the request in the order of their keys: one more than its limit, if there are so many.
    func objects() async throws -> [RemoteObject] {
        let first = FirstObjects(request)
        try await visit("", first) { resource, _ in
            if let object = resource.object(in: client.place) { first.add(object) }
        }
        return first.objects
    }

    /// - Returns: how many were removed.
    func removeUnfinished(olderThan age: Duration) async throws -> Int {
        let old = Mutex<[(path: String, key: ObjectKey)]>([])
        let limit = Date().addingTimeInterval(-(age / .seconds(1)))
        try await visit("", nil) { resource, folder in
            guard let name = resource.name, let modified = resource.modified, modified <= limit,
                let key = Self.key(ofUnfinished: name), key.rawValue.hasPrefix(request.prefix)
            else { return }
            old.withLock { $0.append((client.place.root + name, key)) }
        }
        for (path, key) in old.withLock({ $0 }) { try await client.remove(path, of: key) }
        return old.withLock { $0.count }
    }

    /// - Parameters:
    ///   - folder: its path below the storage's own, empty or with a slash at its end.
    ///   - first: what is looked for, so that folders behind the page are left out.
    private func visit(
        _ folder: String, _ first: FirstObjects?, _ onFile: @escaping @Sendable (DAVResource, String) -> Void
    ) async throws {
        try Task.checkCancellation()
        let folders = Mutex<[String]>([])
        do {
            _ = try await client.properties(of: client.place.root + folder, depth: 1, about: nil) { resource in
                // A server may list more than was asked for.
                guard let name = resource.name, name.hasPrefix(folder), !name.dropFirst(folder.count).contains("/")
                else {
                    return
                }
                if resource.isFolder {
                    if leads(name) { folders.withLock { $0.append(name) } }
                } else {
                    onFile(resource, folder)
                }
            }
        } catch let failure as WebDAVFailure where failure.isMissing {
            return try await client.requireRoot()  // removed since its name was read
        }
        for name in folders.withLock({ $0.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }) {
            if let first, first.isFull(before: name + "/") { continue }
            try await visit(name + "/", first, onFile)
        }
    }

    /// Whether keys of the request may be below a folder.
    private func leads(_ name: String) -> Bool {
        guard ObjectKey(listed: name) != nil else { return false }
        let folder = name + "/"
        guard folder.hasPrefix(request.prefix) || request.prefix.hasPrefix(folder) else { return false }
        guard let continuation = request.continuation else { return true }
        return !folder.utf8.lexicographicallyPrecedes(continuation.utf8) || continuation.hasPrefix(folder)
    }

    /// `a/~name~token` was to be `a/name`.
    static func key(ofUnfinished path: String) -> ObjectKey? {
        var segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let name = segments.popLast()?.split(separator: "~", omittingEmptySubsequences: false) ?? []
        guard name.count == 3, name[0].isEmpty, !name[2].isEmpty else { return nil }
        return ObjectKey(listed: (segments + [name[1]]).joined(separator: "/"))
    }
}

/// The first objects behind a position, while they come in no order.
private final class FirstObjects: Sendable {
    private let request: ListRequest
    private let state = Mutex<[RemoteObject]>([])

    init(_ request: ListRequest) { self.request = request }

    var objects: [RemoteObject] { state.withLock { Self.first(request.limit + 1, of: $0) } }

    func add(_ object: RemoteObject) {
        let key = object.key.rawValue
        guard key.hasPrefix(request.prefix),
            request.continuation.map({ $0.utf8.lexicographicallyPrecedes(key.utf8) }) ?? true
        else { return }
        state.withLock { objects in
            objects.append(object)
            if objects.count > 2 * (request.limit + 1) { objects = Self.first(request.limit + 1, of: objects) }
        }
    }

    /// Whether there are enough of them, all before a name.
    func isFull(before name: String) -> Bool {
        let objects = objects
        guard objects.count > request.limit, let last = objects.last else { return false }
        return last.key.rawValue.utf8.lexicographicallyPrecedes(name.utf8)
    }

    private static func first(_ count: Int, of objects: [RemoteObject]) -> [RemoteObject] {
        Array(objects.sorted { $0.key.rawValue.utf8.lexicographicallyPrecedes($1.key.rawValue.utf8) }.prefix(count))
    }
}
