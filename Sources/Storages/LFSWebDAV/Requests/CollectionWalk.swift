import Foundation
import LFSStorage
import LFSSystem
import Synchronization

/// A walk through the folders of the storage, with one request per folder.
struct CollectionWalk: Sendable {
    let client: WebDAVClient
    let request: ListRequest

    /// The maximum number of consecutive folders without a file. A faulty server may list folders without end.
    private static let emptyFolderLimit = 10_000

    /// Returns the first objects of the request, ordered by key. If available, it returns one more than the limit.
    func objects() async throws -> [RemoteObject] {
        let first = Mutex(FirstItems(of: request, key: \RemoteObject.key))
        var emptyCount = 0
        try await visit(
            "", emptyCount: &emptyCount, leavingOut: { folder in first.withLock { $0.precedes(folder) } },
            onFile: { file in
                if let object = file.object(in: client.place) { first.withLock { $0.add(object) } }
            })
        return first.withLock { $0.items }
    }

    /// - Returns: the number of deleted files.
    func removeUnfinished(olderThan age: Duration) async throws -> Int {
        let old = Mutex<[(path: String, key: ObjectKey)]>([])
        let limit = Date().addingTimeInterval(-(age / .seconds(1)))
        var emptyCount = 0
        try await visit("", emptyCount: &emptyCount) { resource in
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
    ///   - emptyCount: the number of consecutive folders without a file.
    ///   - isLeftOut: returns true if nothing in a folder is needed any more.
    /// - Throws: ``StorageError/Code/serverError`` after too many folders without a file.
    private func visit(
        _ folder: String, emptyCount: inout Int, leavingOut isLeftOut: (String) -> Bool = { _ in false },
        onFile: @escaping @Sendable (DAVResource) -> Void
    ) async throws {
        try Task.checkCancellation()
        let found = Mutex((folders: [String](), hasFile: false))
        do {
            _ = try await client.properties(of: client.place.root + folder, depth: 1, about: nil) { resource in
                // A server may list more than requested.
                guard let name = resource.name, name.hasPrefix(folder), !name.dropFirst(folder.count).contains("/")
                else { return }
                if !resource.isFolder {
                    found.withLock { $0.hasFile = true }
                    onFile(resource)
                } else if ObjectKey(listed: name) != nil, request.mayLead(into: name + "/") {
                    found.withLock { $0.folders.append(name + "/") }
                }
            }
        } catch let failure as WebDAVFailure where failure.isMissing {
            return try await client.requireRoot()  // The folder was removed after it was listed.
        }
        let (folders, hasFile) = found.withLock { $0 }
        emptyCount = hasFile ? 0 : emptyCount + 1
        guard emptyCount < Self.emptyFolderLimit else {
            throw StorageError(.serverError, message: "The server lists folders without end.")
        }
        for name in folders.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) where !isLeftOut(name) {
            try await visit(name, emptyCount: &emptyCount, leavingOut: isLeftOut, onFile: onFile)
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
