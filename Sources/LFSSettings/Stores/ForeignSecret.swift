package import Foundation

/// An item of another program, or of an earlier version of the app, in a place that keeps secrets.
package struct ForeignSecret: Sendable, Hashable {
    /// Names it, without a secret.
    package let id: String
    let read: @Sendable () async throws -> Data?
    let remove: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - id: names it.
    ///   - read: its bytes; nil when there is no such item.
    ///   - remove: removes it, and what is not there is removed.
    package init(
        id: String, read: @escaping @Sendable () async throws -> Data?,
        remove: @escaping @Sendable () async throws -> Void
    ) {
        (self.id, self.read, self.remove) = (id, read, remove)
    }

    package static func == (left: ForeignSecret, right: ForeignSecret) -> Bool { left.id == right.id }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
