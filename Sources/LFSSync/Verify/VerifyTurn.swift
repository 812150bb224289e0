import LFSDatabase
import LFSWire

/// Compares what is here with what the server has.
struct VerifyTurn: Sendable {
    let runner: BackgroundRunner
    let server: SyncServer
    let tables: [SyncedTable]

    /// A type in a scope; nil for the account's own.
    struct Place: Hashable, Sendable {
        let type: SyncType
        let scope: SyncScope?
    }

    /// What is compared.
    struct Pair: Sendable {
        let here: LocalDigest
        let there: SyncDigest
        var differs: Bool { !here.isSame(as: there) }
    }

    /// To be called when all there is has come. What is written meanwhile may show as a difference.
    func compare() async throws -> [Place: Pair] {
        let own = try await runner.read { try SyncCheckpoints.ownScope($0) }
        let there = try await server.digests(tables.map(\.type), of: own)
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

extension VerifyTurn.Place {
    fileprivate init(_ digest: SyncDigest) { self.init(type: digest.type, scope: digest.scope) }
}
