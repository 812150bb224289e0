import LFSWire
import Logging

/// The removal of the objects of deleted files, for a server with access to their storage.
extension SyncService {
    /// Removes the objects of files that were deleted longer ago than ``SyncServiceOptions/removalDelay``. Call it
    /// regularly. Several servers may do so at the same time.
    ///
    /// An object stays if a row has its key, even a new row. An unconfirmed removal is tried again: after a minute,
    /// then after twice as long each time, and finally once a day.
    ///
    /// - Parameter remove: removes the object with a key on behalf of the account that owns it. It returns true once
    ///   the storage has confirmed the removal. It returns false if the account may not remove the object, which is
    ///   final. After an error, the removal is tried again. Eight calls run concurrently.
    /// - Returns: the number of removed objects.
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

    /// Returns the owner of an object that an account may read although it is not its own. The account sees a row of
    /// the owner with that key. Nil for any other object, whether it exists or not.
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
            if !isGone { logger.notice("An object of a deleted file belongs to another account and is kept.") }
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
    /// The time in milliseconds after which another server may take a removal. A server that has recorded no result by
    /// then has stopped.
    private static let removalPatience: Int64 = 600_000

    /// Returns the delay before the next attempt in milliseconds.
    static func delay(after tries: Int64) -> Int64 { min(60_000 << min(max(tries, 0), 20), Milliseconds.day) }
}
