package import Foundation

/// An item of another program, or of an earlier version of the app, in a store for secrets.
package struct ForeignSecret: Sendable, Hashable {
    /// A description of the item that contains no secret.
    package let id: String
    let read: @Sendable () async throws -> Data?
    let remove: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - id: a description of the item that contains no secret.
    ///   - read: returns its bytes, or nil if the item does not exist.
    ///   - remove: removes the item, and succeeds if it does not exist.
    package init(
        id: String, read: @escaping @Sendable () async throws -> Data?,
        remove: @escaping @Sendable () async throws -> Void
    ) {
        self.id = id
        self.read = read
        self.remove = remove
    }

    package static func == (left: ForeignSecret, right: ForeignSecret) -> Bool { left.id == right.id }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
