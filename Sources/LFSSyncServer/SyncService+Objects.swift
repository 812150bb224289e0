import LFSWire
import Logging

/// The objects of files, for a server that reaches their storage.
extension SyncService {
    /// Removes the objects of files that were deleted longer ago than ``SyncServiceOptions/removalDelay``. To be called
    /// now and then; several servers may do so at once.
    ///
    /// An object stays that a row has, or has again. One whose removal is not confirmed is asked for again: after a
    /// minute, then after twice as long, and at the last once a day.
    ///
    /// - Parameter remove: removes the object with a key on behalf of the account whose it is, and returns true once
    ///   the storage has confirmed; false when it is not that account's to remove, which is final. What it throws lets
    ///   it be asked again. Eight run at once.
    /// - Returns: how many are gone.
    /// - Throws: ``SQLFailure``, `CancellationError`.
    @discardableResult public func removeObjects(
        _ remove: @escaping @Sendable (_ key: String, _ account: String) async throws -> Bool
    ) async throws -> Int {
        var count = 0
        while true {
            let now = Milliseconds.of(options.now())
            let items = try await database.write {
                try RemovalTable.take(Self.removalsAtOnce, at: now, until: now + Self.removalPatience, $0)
            }
            count += try await withThrowingTaskGroup(of: Bool.self) { group in
                var waiting = items.makeIterator()
                var count = 0
                func begin() {
                    guard let item = waiting.next() else { return }
                    group.addTask { try await self.remove(item, remove) }
                }
                for _ in 0..<8 { begin() }
                while let isGone = try await group.next() {
                    if isGone { count += 1 }
                    begin()
                }
                return count
            }
            if items.count < Self.removalsAtOnce { return count }
        }
    }

    /// Whose object an account may read although it is not its own: it sees a row of the owner with that key. nil for
    /// all others, whether there is such an object or not.
    ///
    /// - Throws: ``SQLFailure``.
    public func owner(ofObject key: String, readableBy account: String) async throws -> String? {
        try await database.read { try FileKeys.owner(of: key, readableBy: account, $0) }
    }

    private func remove(
        _ item: RemovalTable.Item, _ remove: @Sendable (_ key: String, _ account: String) async throws -> Bool
    ) async throws -> Bool {
        do {
            let isGone = try await remove(item.key, item.account)
            if !isGone { logger.notice("An object of a deleted file is not its account's to remove, and stays.") }
            try await database.write { try RemovalTable.forget(item.key, $0) }
            return isGone
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            logger.warning("An object of a deleted file could not be removed yet.", metadata: ["error": "\(error)"])
            let notBefore = Milliseconds.of(options.now()) + Self.delay(after: item.tries)
            try await database.write { try RemovalTable.postpone(item.key, notBefore: notBefore, $0) }
            return false
        }
    }

    private static let removalsAtOnce = 100
    /// A server that has not said after ten minutes what came of it has ended.
    private static let removalPatience: Int64 = 600_000

    /// Milliseconds.
    static func delay(after tries: Int64) -> Int64 { min(60_000 << min(max(tries, 0), 20), Milliseconds.day) }
}
