import LFSWire

/// Forgets deletions that every device should have heard of.
enum Pruning {
    /// - Parameter bound: what is older than that position goes, and the scope notes up to where: a device that had not
    ///   come so far begins that scope anew.
    /// - Returns: how many deletions were forgotten, and whether there may be more.
    static func prune(below bound: String, _ db: any SQLConnection) throws -> (count: Int, hasMore: Bool) {
        var scopes: [String] = []
        let sql = """
            SELECT scopeID FROM sync_tombstone WHERE updateID < ?1
            UNION SELECT scopeID FROM sync_member WHERE isDeleted = 1 AND updateID < ?1 LIMIT \(scopesAtOnce)
            """
        try db.query(sql, [.text(bound)]) { row in
            if let scope = try row.text(0) { scopes.append(scope) }
            return true
        }
        var count = 0
        for scope in scopes {
            let arguments: [SQLValue] = [.text(scope), .text(bound)]
            let last = try db.firstText(
                """
                SELECT max(x.updateID) FROM (
                    SELECT max(updateID) AS updateID FROM sync_tombstone WHERE scopeID = ?1 AND updateID < ?2
                    UNION ALL
                    SELECT max(updateID) FROM sync_member WHERE scopeID = ?1 AND isDeleted = 1 AND updateID < ?2) x
                """, arguments)
            guard let last else { continue }
            try db.execute(
                "UPDATE sync_scope SET prunedThrough = ?2 WHERE id = ?1 AND prunedThrough < ?2",
                [.text(scope), .text(last)])
            count += try db.execute("DELETE FROM sync_tombstone WHERE scopeID = ?1 AND updateID < ?2", arguments)
            count += try db.execute(
                "DELETE FROM sync_member WHERE scopeID = ?1 AND isDeleted = 1 AND updateID < ?2", arguments)
        }
        return (count, scopes.count == scopesAtOnce)
    }

    /// Other writers have their turn between.
    private static let scopesAtOnce = 100

    /// The first position of a millisecond.
    static func position(at milliseconds: Int64) -> String {
        let digits = String(max(0, milliseconds), radix: 16)
        let time = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
        return "\(time.prefix(8))-\(time.suffix(4))-7000-8000-000000000000"
    }
}
