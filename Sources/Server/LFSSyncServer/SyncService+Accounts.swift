public import Foundation
import LFSWire

/// Operations for the operators of a server that concern accounts.
extension SyncService {
    /// Returns all accounts or one of them, sorted by name, with the storage that they use.
    ///
    /// - Throws: ``SQLFailure``.
    public func accounts(named name: String? = nil) async throws -> [SyncAccountInfo] {
        var accounts: [SyncAccountInfo] = []
        while true {
            let last = accounts.last?.name ?? ""
            let page = try await database.read {
                try AccountTable.page(after: last, limit: Self.pageLimit, account: name, $0)
            }
            accounts += page
            if name != nil || page.count < Self.pageLimit { return accounts }
        }
    }

    /// Sets a limit of an account. It applies to the next push or session.
    ///
    /// - Parameters:
    ///   - limit: the limit.
    ///   - value: the new value, or nil for the limit of the server.
    ///   - name: the name of the account.
    /// - Returns: false if no account has that name.
    /// - Throws: ``SQLFailure``.
    public func setLimit(_ limit: AccountLimit, to value: Int64?, account name: String) async throws -> Bool {
        let value = value.map { min(max($0, 0), AccountLimit.largestValue) }
        return try await database.write { try AccountTable.set(limit, to: value, account: name, $0) }
    }

    /// Counts the rows, bytes, records of deletions and pending removals of all accounts or of one of them again, each
    /// in its own transaction without a time limit. The triggers keep the counters right, so this is only necessary
    /// after someone has disabled them.
    ///
    /// - Returns: the number of accounts whose counters were wrong.
    /// - Throws: ``SQLFailure``.
    public func recount(account name: String? = nil) async throws -> Int {
        var count = 0
        for account in try await accounts(named: name) {
            let own = SyncScope.account(account.id).description
            let usage = UsageSQL.recount("id = ?1", schema: schema, dialect: database.dialect)
            let isWrong = try await database.write { db in
                try PostgresOrder.liftLimit(db)
                let scopes = try AccountTable.scopes(ownedBy: account.id, db)
                for scope in scopes { try PostgresOrder.hold(scope, db) }
                let before = try AccountTable.usage(of: own, db)
                try db.execute(usage, arguments: [.text(own)])
                for scope in scopes {
                    for statement in DeletionSQL.recount("id = ?1") {
                        try db.execute(statement, arguments: [.text(scope)])
                    }
                }
                try RemovalTable.recount(account.id, db)
                let after = try AccountTable.usage(of: own, db)
                return after.usage != before.usage || after.deletions != before.deletions
            }
            if isWrong { count += 1 }
        }
        return count
    }

    private static let pageLimit = 1_000
}

/// Queries for accounts that a device may share rows with.
extension SyncService {
    /// Answers `POST …/v1/sync/account` with the id of the account with a name: `{"id":"…"}`, or `{"id":null}` if no
    /// account has it.
    ///
    /// The reply is 403 unless ``SyncServiceOptions/namesAccounts`` is set.
    public func account(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] _ in
            guard options.namesAccounts else {
                throw WireFailure(
                    .forbidden,
                    message:
                        "This server does not reveal which accounts exist. Its operator may allow that.")
            }
            let name = try WireFormat.decode(SyncAccountRequest.self, from: body, limits: .sync).name
            return .object(try Array(WireFormat.encode(SyncAccountReply(id: try await account(named: name)))))
        }
    }
}
