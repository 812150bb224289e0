import Foundation
import GRDB
import LFSFiles

/// What the rows say of a local copy.
struct CopyVerdict: Sendable {
    /// Milliseconds since 1970.
    var lastUse: Int64
    /// Why the copy stays; nil when it may go.
    var reason: StayReason?
}

/// Says which local copies may go, by rows and policy alone. The one definition, for every way to free space.
struct CopyJudge: Sendable {
    let policy: FreeingPolicy
    /// Milliseconds since 1970.
    let now: Int64

    /// - Parameter uses: the copies, with last uses that may not be in the table yet; 0 for none.
    func verdicts(on uses: [FileID: Int64], _ db: Database) throws -> [FileID: CopyVerdict] {
        let ids = uses.keys.map(\.text)
        let named = try named(ids, db)
        var verdicts = uses.mapValues { CopyVerdict(lastUse: $0, reason: .unclaimed) }
        let rows = try Row.fetchCursor(db, sql: Self.sql(ids.count), arguments: StatementArguments(ids))
        while let row = try rows.next() {
            guard let text = String.fromDatabaseValue(row["id"]), let id = FileID(text), let use = uses[id] else {
                continue
            }
            // What another program has written into them is no reason to free or to keep a copy.
            let made = Date.fromDatabaseValue(row["createdAt"]) ?? .distantPast
            let written = Int64.fromDatabaseValue(row["lastUsed"])
            // Times in the future come from a clock that was set back since.
            let lastUse = min(max(use, written ?? 0, made.millisecondsSince1970), now)
            verdicts[id] = CopyVerdict(
                lastUse: lastUse, reason: reason(row, isNamed: named.contains(text), lastUse: lastUse))
        }
        return verdicts
    }

    private func reason(_ row: Row, isNamed: Bool, lastUse: Int64) -> StayReason? {
        // A job on a row that is `remote` says that its object is missing or wrong.
        let isRemote = FileData.Status.fromDatabaseValue(row["status"]) == .remote
        guard isRemote, row["isQueued"] == false else { return .notUploaded }
        if Bool.fromDatabaseValue(row["isPinned"]) != false { return .pinned }
        if isNamed { return .named }
        if policy.keeps(contentType: String.fromDatabaseValue(row["contentType"])) { return .contentType }
        if let time = policy.keepsUsedWithin, lastUse > now - time.milliseconds { return .recentlyUsed }
        if policy.unproven != .free, FileData.Proof.fromDatabaseValue(row["proof"]) != .checksum { return .unproven }
        return nil
    }

    /// Whether a copy may go by now, or once its object was read back.
    func mayGo(_ reason: StayReason?) -> Bool { reason == nil || (reason == .unproven && policy.unproven == .readBack) }

    /// Those of the ids that a request of the policy names.
    private func named(_ ids: [String], _ db: Database) throws -> Set<String> {
        var named: Set<String> = []
        for request in policy.requests {
            let kept = request().select(FileData.Columns.id).contains(FileData.Columns.id)
            let found = FileData.filter(ids.contains(FileData.Columns.id)).filter(kept).select(FileData.Columns.id)
            named.formUnion(try String.fetchAll(db, found))
        }
        return named
    }

    private static func sql(_ count: Int) -> String {
        """
        SELECT f.id, f.status, f.proof, f.contentType, f.createdAt, c.lastUsed, coalesce(c.isPinned, 0) AS isPinned,
            EXISTS (SELECT 1 FROM lfs_job j WHERE j.fileID = f.id) AS isQueued
        FROM lfs_file f LEFT JOIN lfs_copy c ON c.fileID = f.id
        WHERE f.id IN (\(databaseQuestionMarks(count: count)))
        """
    }
}
