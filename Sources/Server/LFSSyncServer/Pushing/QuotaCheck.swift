import LFSWire

/// The check of a push against the quotas of the accounts that own its rows, and against the limits of their records.
///
/// A push that fits in any case needs no statement for its own rows. The other pushes compare the counters of the
/// scope before and after each change.
struct QuotaCheck: Sendable {
    /// The scope of the pushing account's own rows.
    let own: String
    /// The quota of accounts without a quota of their own.
    let quota: AccountQuota
    /// The quota of the pushing account.
    let ownQuota: AccountQuota
    /// True if all mutations of the push fit into the pushing account's quota.
    let fits: Bool
    /// The limit of the records of deletions.
    let deletions: DeletionLimit
    /// True if the pushing account may create files. It may not while its pending removals of objects need more bytes
    /// than its rows may have. An account that has deleted all its files once is below that.
    let mayAddFiles: Bool

    /// The maximum number of namespaces of the pushing account. Each database of a device has one of them.
    var namespaceLimit: Int64 { max(1_000, ownQuota.rows / 1_000) }

    /// - Parameters:
    ///   - session: the session, whose counters do not change until the end of the transaction.
    ///   - growth: the most that the push may add.
    init(of session: HeldSession, growth: AccountUsage, quota: AccountQuota, schema: CheckedSchema) {
        own = session.session.own.description
        self.quota = quota
        deletions = DeletionLimit(schema)
        ownQuota = session.limits.quota(default: quota)
        mayAddFiles = session.removalBytes <= ownQuota.rowBytes
        let most = session.usage + growth
        fits = most.excess(over: ownQuota, since: session.usage) == nil
    }

    /// The state of a scope before a change that may exceed a limit.
    struct Before: Sendable {
        fileprivate let scope: String
        fileprivate let usage: AccountUsage
        fileprivate let quota: AccountQuota
    }

    /// Returns the state of a scope before a change. Nil if the change fits in any case. Limits the records of another
    /// account's scope, because this account may create and delete rows in it.
    ///
    /// - Parameter growth: the most that the change may add.
    func before(_ growth: AccountUsage, in scope: String, _ db: any SQLConnection) throws -> Before? {
        if fits, scope == own { return nil }
        let (usage, deletions, limits) = try AccountTable.usage(of: scope, db)
        if scope != own { try self.deletions.apply(to: scope, rows: usage.rows, deletions: deletions, db) }
        let quota = limits.quota(default: quota)
        guard (usage + growth).excess(over: quota, since: usage) != nil else { return nil }
        return Before(scope: scope, usage: usage, quota: quota)
    }
}

extension QuotaCheck.Before {
    /// Checks the scope after the change.
    ///
    /// - Throws: ``WireFailure/Code/quotaExceeded``.
    func requireRoom(_ db: any SQLConnection) throws {
        let after = try AccountTable.usage(of: scope, db).usage
        guard let (limit, value) = after.excess(over: quota, since: usage) else { return }
        throw WireFailure(exceeding: limit, value: value)
    }
}

extension QuotaCheck {
    /// Checks that the pushing account may create a file.
    ///
    /// - Throws: ``WireFailure/Code/quotaExceeded``.
    func requireFewRemovals() throws(WireFailure) {
        guard !mayAddFiles else { return }
        var failure = WireFailure(
            .quotaExceeded,
            message: "The server still has to remove the objects of many deleted files. Files can be added after that.")
        failure.exceeded = ExceededLimit(name: AccountLimit.rowBytes.rawValue, value: ownQuota.rowBytes)
        throw failure
    }
}

extension WireFailure {
    fileprivate init(exceeding limit: AccountLimit, value: Int64) {
        let words =
            switch limit {
            case .rows: "\(value) rows"
            case .rowBytes: "\(value) bytes of rows"
            case .fileBytes: "\(value) bytes of files"
            case .sessions: "\(value) sessions"
            }
        self.init(
            .quotaExceeded,
            message: "The account may have at most \(words). Delete some, or ask the operator for a larger quota.")
        exceeded = ExceededLimit(name: limit.rawValue, value: value)
    }
}

extension AccountUsage {
    /// Returns the most that mutations may add to the scope of their account.
    ///
    /// - Parameter byteCount: the bytes of the mutations as JSON, in which no value except a number is shorter.
    static func most(
        of mutations: some Sequence<SyncMutation>, byteCount: Int, schema: CheckedSchema
    ) -> AccountUsage {
        var most = AccountUsage()
        most.rowBytes = Int64(byteCount)
        for mutation in mutations where mutation.operation != .delete {
            guard let table = schema.table(of: mutation.type) else { continue }
            most = most + fixed(of: mutation, table: table)
        }
        return most
    }

    /// Returns the most that a mutation may add to a scope.
    static func most(of mutation: SyncMutation, table: CheckedSchema.Table) -> AccountUsage {
        var most = fixed(of: mutation, table: table)
        for (_, value) in mutation.row.values { most.rowBytes += byteCount(of: SQLValue(value)) }
        return most
    }

    /// Returns the part that does not depend on texts and blobs.
    private static func fixed(of mutation: SyncMutation, table: CheckedSchema.Table) -> AccountUsage {
        var most = AccountUsage()
        most.rows = mutation.operation == .put ? 1 : 0
        most.rowBytes = Int64(mutation.key.utf8.count)
        for column in table.table.columns {
            most.rowBytes += column.kind.isNumber ? 8 : column.defaultValue.map(byteCount) ?? 0
        }
        guard table.name == SyncType.fileTable else { return most }
        switch mutation.row["byteCount"] {
        case nil, .null?: break
        case .integer(let count)?: most.fileBytes = min(max(count, 0), AccountLimit.largestValue)
        // The column may convert the value to any number.
        case .real?, .text?, .blob?: most.fileBytes = AccountLimit.largestValue
        }
        return most
    }

    private static func byteCount(of value: SQLValue) -> Int64 {
        switch value {
        case .null, .integer, .real: 0
        case .text(let text): Int64(text.utf8.count)
        case .blob(let bytes): Int64(bytes.count)
        }
    }
}

extension SyncSchema.Column.Kind {
    var isNumber: Bool { self == .integer || self == .real }
}
