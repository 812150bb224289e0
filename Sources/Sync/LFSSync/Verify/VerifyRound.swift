import LFSDatabase
import LFSWire

/// A comparison of the rows on this device with those on the server.
struct VerifyRound: Sendable {
    let runner: BackgroundRunner
    let server: SyncHTTPClient
    let tables: [SyncedTable]

    /// A type in a scope. The scope is nil for the account's own rows.
    struct Place: Hashable, Sendable {
        let type: SyncType
        let scope: SyncScope?
    }

    /// The two digests that are compared.
    struct Pair: Sendable {
        let here: LocalDigest
        let there: SyncDigest
        var differs: Bool { !here.isSame(as: there) }
    }

    /// Compares the digests of all types and scopes. Call it when all available changes have arrived. Concurrent writes
    /// may show as differences.
    func compare() async throws -> [Place: Pair] {
        let own = try await runner.read { try SyncCheckpoints.ownScope($0) }
        let digests = try await server.digests(tables.map(\.types), of: own)
        // The server may have answered for an earlier version of a type.
        let there = digests.map { digest in
            let table = tables.first { $0.type.name == digest.type.name }
            return table.map { digest.renamed(to: $0.type) } ?? digest
        }
        let here = try await runner.read { [tables] in try LocalDigest.all(tables, $0) }
        let settled = Set(here.map(\.digest.type))
        var pairs: [Place: Pair] = [:]
        for local in here {
            let none = SyncDigest(type: local.digest.type, scope: local.digest.scope)
            pairs[Place(none)] = Pair(here: local, there: none)
        }
        for digest in there where settled.contains(digest.type) {
            let none = LocalDigest(SyncDigest(type: digest.type, scope: digest.scope))
            pairs[Place(digest)] = Pair(here: pairs[Place(digest)]?.here ?? none, there: digest)
        }
        return pairs
    }
}

extension VerifyRound.Place {
    fileprivate init(_ digest: SyncDigest) { self.init(type: digest.type, scope: digest.scope) }
}
