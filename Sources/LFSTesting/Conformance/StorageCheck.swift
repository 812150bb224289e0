public import LFSStorage

/// One rule of the storage contract, and the way to find out whether a storage keeps it.
public struct StorageCheck: Sendable, Identifiable, CustomStringConvertible {
    /// What holds when the check passes, as a sentence.
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

    /// Returns when the storage keeps the rule.
    ///
    /// The check waits for the storage as long as it takes: a time limit is the caller's to set.
    /// - Throws: ``ConformanceFailure`` when it does not, or when the check's own objects cannot be removed.
    public func run(against storage: any RemoteStorage) async throws(ConformanceFailure) {
        let room = CheckRoom(storage, check: name)
        var failure: ConformanceFailure?
        do {
            try await body(room)
        } catch {
            failure = room.failure("the check runs to its end", error)
        }
        do {
            try await room.clear()
        } catch {
            // The first failure is the one to mend.
            failure = failure ?? room.failure("what the check stored can be removed", error)
        }
        if let failure { throw failure }
    }
}
