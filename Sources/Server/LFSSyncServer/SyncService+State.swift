public import Foundation
import LFSSystem
import LFSWire

/// Queries of a device about its session and the server.
extension SyncService {
    /// Answers `GET …/v1/sync/ack` with the tokens that the device has acknowledged: `{"acks":["…"]}`.
    public func acknowledged(token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let tokens = try await database.read { try CheckpointTable.tokens(of: session, $0) }
            // A token contains no characters that JSON escapes.
            let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
            return .object(Array("{\"acks\":[\(list)]}\n".utf8))
        }
    }

    /// Answers `DELETE …/v1/sync/ack`. The next stream starts over: for the types in a body such as
    /// `{"types":["RecipeV2"]}`, or for all types without a body.
    public func forget(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let named =
                body.isEmpty ? nil : try WireFormat.decode(SyncForgetRequest.self, from: body, limits: .sync).types
            // Each type costs a statement, so only the known ones count, and each once.
            let types = named.map { Set($0.map(\.description)).intersection(schema.typeNames) }
            let now = Milliseconds.of(options.now())
            try await writing(for: session.account) { try CheckpointTable.forget(types, of: session, at: now, $0) }
            return .done
        }
    }

    /// Answers `POST …/v1/sync/digest`, whose body is that of a stream request. The reply contains the number of rows
    /// of each type in each scope and a hash of their keys. A device detects differences with them.
    public func digest(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let request = try WireFormat.decode(SyncStreamRequest.self, from: body, limits: .sync)
            try session.requireOwner(request.account)
            let types = try types(of: request)
            try session.rights.requireAll(types.map(\.type))
            let sharing = schema.sharing
            let work = WorkTime(clock)
            // A device that finds a difference sends further requests to repair it.
            defer { rate?.charge(session.account, units: RequestRate.cost(of: work.total), leaving: 10) }
            return .lines(
                try await turns.withTurn(session.account) {
                    try await database.read { db in
                        try work.measure { try ScopeDigest.lines(types, sharing: sharing, of: session, db) }
                    }
                })
        }
    }

    /// Answers `GET …/v1/sync/schema` with each version of each type that the session may use and its columns, parents
    /// first.
    public func types(token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let tables = schema.tables.filter { session.rights.permits($0.typeName) }
            let types = tables.flatMap { table in
                table.versions.enumerated().map { index, columns in
                    let columns = columns.map { column in
                        let parent = column.parent.map { ",\"parent\":\"\($0.table)\"" } ?? ""
                        return "{\"name\":\"\(column.name)\",\"kind\":\"\(column.kind.rawValue)\","
                            + "\"required\":\(column.isNeverNull)\(parent)}"
                    }
                    let type = SyncType(name: table.typeName, version: index + 1)
                    return "{\"type\":\"\(type)\",\"table\":\"\(table.name)\","
                        + "\"columns\":[\(columns.joined(separator: ","))]}"
                }
            }
            let list = types.joined(separator: ",")
            return .object(Array("{\"protocol\":\(SyncStreamRequest.version),\"types\":[\(list)]}\n".utf8))
        }
    }
}
