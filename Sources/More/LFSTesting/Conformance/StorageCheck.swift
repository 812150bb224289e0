public import LFSStorage

/// A rule of the storage contract, with a test that verifies it for a storage.
public struct StorageCheck: Sendable, Identifiable, CustomStringConvertible {
    /// The rule, as a sentence.
    public let name: String
    private let body: @Sendable (CheckRoom) async throws -> Void

    /// The check's name.
    public var id: String { name }
    /// The check's name.
    public var description: String { name }

    init(_ name: String, _ body: @escaping @Sendable (CheckRoom) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// Verifies the rule. Returns if the storage follows it.
    ///
    /// The check has no time limit. The caller may set one.
    /// - Throws: ``ConformanceFailure`` if the storage violates the rule, or if the check's objects cannot be removed.
    public func run(against storage: any RemoteStorage) async throws(ConformanceFailure) {
        let room = CheckRoom(storage, check: name)
        var failure: ConformanceFailure?
        do {
            try await body(room)
        } catch {
            failure = room.failure("the check runs to its end", error: error)
        }
        do {
            try await room.clear()
        } catch {
            // The first failure is the relevant one.
            failure = failure ?? room.failure("the objects of the check can be removed", error: error)
        }
        if let failure { throw failure }
    }
}
