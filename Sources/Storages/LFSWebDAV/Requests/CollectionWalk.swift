import Foundation
import LFSStorage
import LFSSystem
import Synchronization

/// A walk through the folders of the storage, with one request per folder.
struct CollectionWalk: Sendable {
    let client: WebDAVClient
    let request: ListRequest

    /// Returns the first objects of the request, ordered by key. If available, it returns one more than the limit.
    func objects() async throws -> [RemoteObject] {
        let first = Mutex(FirstItems(of: request, key: \RemoteObject.key))
        try await visit(
            "", leavingOut: { folder in first.withLock { $0.precedes(folder) } },
            onFile: { file in
                if let object = file.object(in: client.place) { first.withLock { $0.add(object) } }
            })
        return first.withLock { $0.items }
    }

    /// - Returns: the number of deleted files.
    func removeUnfinished(olderThan age: Duration) async throws -> Int {
        let old = Mutex<[(path: String, key: ObjectKey)]>([])
        let limit = Date().addingTimeInterval(-(age / .seconds(1)))
        try await visit("") { resource in
            guard let name = resource.name, let modified = resource.modified, modified <= limit,
                let key = Self.key(ofUnfinished: name), key.rawValue.hasPrefix(request.prefix)
            else { return }
            old.withLock { $0.append((client.place.root + name, key)) }
        }
        for (path, key) in old.withLock({ $0 }) { try await client.remove(path, of: key) }
        return old.withLock { $0.count }
    }

    /// - Parameters:
    ///   - folder: the path below the storage's folder. It is empty or has a trailing slash.
    ///   - isLeftOut: returns true if nothing in a folder is needed any more.
    private func visit(
        _ folder: String, leavingOut isLeftOut: (String) -> Bool = { _ in false },
        onFile: @escaping @Sendable (DAVResource) -> Void
    ) async throws {
        try Task.checkCancellation()
        let folders = Mutex<[String]>([])
        do {
            _ = try await client.properties(of: client.place.root + folder, depth: 1, about: nil) { resource in
                // A server may list more than requested.
                guard let name = resource.name, name.hasPrefix(folder), !name.dropFirst(folder.count).contains("/")
                else { return }
                if !resource.isFolder {
                    onFile(resource)
                } else if ObjectKey(listed: name) != nil, request.mayLead(into: name + "/") {
                    folders.withLock { $0.append(name + "/") }
                }
            }
        } catch let failure as WebDAVFailure where failure.isMissing {
            return try await client.requireRoot()  // The folder was removed after it was listed.
        }
        for name in folders.withLock({ $0.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } })
        where !isLeftOut(name) {
            try await visit(name, leavingOut: isLeftOut, onFile: onFile)
        }
    }

    /// Returns the key of a temporary file: `a/~name~token` belongs to `a/name`.
    static func key(ofUnfinished path: String) -> ObjectKey? {
        var segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let name = segments.popLast()?.split(separator: "~", omittingEmptySubsequences: false) ?? []
        guard name.count == 3, name[0].isEmpty, !name[2].isEmpty else { return nil }
        return ObjectKey(listed: (segments + [name[1]]).joined(separator: "/"))
    }
}
