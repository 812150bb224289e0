import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// Accounts with albums and partners.
enum SharingServer {
    static let schema = SyncSchema(
        tables: [
            .init("album", [.init("title", .text)]),
            .init(
                "album_user",
                [
                    .init("albumID", .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("accountID", .text, isRequired: true), .init("role", .text),
                ]),
            .init(
                "album_file",
                [
                    .init("albumID", .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("fileID", .text, isRequired: true, parent: .init("lfs_file", onDelete: .cascade)),
                ]),
            .init(
                "partner",
                [.init("sharedByID", .text, isRequired: true), .init("sharedWithID", .text, isRequired: true)]),
            .init("note", [.init("fileID", .text, parent: .init("lfs_file")), .init("text", .text)]),
        ],
        containers: [.init("album", members: "album_user", links: "album_file", of: "lfs_file")],
        partners: .init("partner", from: "sharedByID", to: "sharedWithID"))

    static let types = ["FileV1", "AlbumV1", "AlbumUserV1", "AlbumFileV1", "PartnerV1", "NoteV1"]
        .compactMap { SyncType($0) }

    static func run(isQuick: Bool = false, _ body: (TestServer) async throws -> Void) async throws {
        try await TestServer.run(isQuick: isQuick, schema: schema, body)
    }
}

extension TestServer {
    func person(_ name: String) async throws -> Person { try await Person(name, on: self) }

    /// The id of an account.
    func id(_ name: String) async throws -> String { try #require(try await service.account(named: name)) }

    func count(_ table: String, where condition: String = "1 = 1") async throws -> Int {
        Int(try await text("SELECT count(*) || '' FROM \(table) WHERE \(condition)") ?? "") ?? -1
    }
}

/// A device of an account that keeps what it is sent, by the scope that gave it, as an app does.
final class Person {
    let name: String
    let id: String
    let server: TestServer
    let device: TestDevice
    /// Rows by scope, and within by their names: `File f1`. The own scope is empty.
    var rows: [String: [String: SyncRow]] = [:]
    /// What a full pass has brought so far, of places that are to be swept at its end.
    private var marks: [SyncToken.Place: Set<String>] = [:]

    init(_ name: String, on server: TestServer) async throws {
        (self.name, self.server) = (name, server)
        device = try await server.device(of: name)
        id = try await server.id(name)
    }

    /// Streams, applies, and acknowledges.
    ///
    /// - Parameter limit: lines after which the connection is cut; what has come until then is acknowledged.
    /// - Returns: what came but for the ends of types: `album/x: File f1`, and `!` for a scope that is gone.
    @discardableResult func sync(
        cutAfter limit: Int? = nil, acknowledging: Bool = true, meanwhile: (() async throws -> Void)? = nil
    ) async throws -> [String] {
        var lines = try await device.lines(types: SharingServer.types)
        try await meanwhile?()
        if let limit { lines = Array(lines.prefix(limit)) }
        var story: [String] = []
        var tokens: [SyncToken] = []
        var last: [SyncToken.Place: SyncPosition] = [:]
        for line in lines {
            let parsed = try Array(line.utf8).withUnsafeBytes { try SyncLine($0, own: .account(id)) }
            if let token = parsed.rowToken {
                #expect(last[token.place].map { $0 < token.position } ?? true, "Positions ascend: \(line)")
                last[token.place] = token.position
            }
            if let token = try apply(parsed, &story) { tokens.append(token) }
        }
        if acknowledging { try await device.acknowledge(tokens) }
        return story
    }

    private func apply(_ line: SyncLine, _ story: inout [String]) throws -> SyncToken? {
        switch line {
        case .row(let row, let token):
            let item = "\(token.place.type.name) \(row.text("id") ?? "")"
            story.append(label(token) + item)
            rows[scope(token), default: [:]][item] = row
            marks[token.place]?.insert(item)
            return token
        case .deletion(let key, let token):
            let item = "\(token.place.type.name) \(key)"
            story.append(label(token) + "-" + item)
            rows[scope(token)]?[item] = nil
            return token
        case .reached(let token, _):
            sweep(token.place)
            return token
        case .scopeDeleted(let token):
            story.append("!" + scope(token))
            rows[scope(token)] = nil
            return token
        case .reset(let reset, let token):
            story.append("reset \(reset.reason.rawValue)")
            for type in reset.types ?? [] {
                for scope in reset.scopes ?? [] { marks[.init(type, scope)] = [] }
            }
            return token
        case .complete(let token):
            // Those of which the last row had come before, and was acknowledged.
            for place in marks.keys { sweep(place) }
            return token
        case .failure, .heartbeat, .unknown: return nil
        }
    }

    /// A full pass is through: what has not come in it goes.
    private func sweep(_ place: SyncToken.Place) {
        guard let seen = marks.removeValue(forKey: place) else { return }
        let (scope, type) = (scope(place), place.type.name + " ")
        for item in rows[scope]?.keys.filter({ $0.hasPrefix(type) && !seen.contains($0) }) ?? [] {
            rows[scope]?[item] = nil
        }
    }

    private func scope(_ token: SyncToken) -> String { scope(token.place) }

    private func scope(_ place: SyncToken.Place) -> String {
        place.scope == .account(id) ? "" : place.scope.description
    }

    private func label(_ token: SyncToken) -> String {
        let scope = scope(token)
        return scope.isEmpty ? "" : scope + ": "
    }

    /// What a scope has given, in order: `File f1`.
    func has(_ scope: String = "") -> [String] { rows[scope].map { $0.keys.sorted() } ?? [] }

    // MARK: Writing

    @discardableResult func file(_ key: String) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "FileV1", key,
            [
                "name": .text(key), "byteCount": .integer(1), "sha256": .text(String(repeating: "a", count: 64)),
                "key": .text("\(name)/\(key)"), "createdAt": .text("2026"), "status": .text("local"),
            ]
        ).outcome
    }

    @discardableResult func album(_ key: String) async throws -> SyncMutationResult.Outcome {
        try await device.put("AlbumV1", key, ["title": .text(key)]).outcome
    }

    /// The row of a member is called as the album and the account: `x-bob`.
    @discardableResult func share(
        _ album: String, _ other: Person, _ role: String = "viewer"
    ) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "AlbumUserV1", "\(album)-\(other.name)",
            ["albumID": .text(album), "accountID": .text(other.id), "role": .text(role)]
        ).outcome
    }

    @discardableResult func unshare(_ album: String, _ other: Person) async throws -> SyncMutationResult.Outcome {
        try await device.push(.delete, "AlbumUserV1", "\(album)-\(other.name)").outcome
    }

    /// The row of a link is called as the album and the file: `x-f1`.
    @discardableResult func link(_ album: String, _ file: String) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "AlbumFileV1", "\(album)-\(file)", ["albumID": .text(album), "fileID": .text(file)]
        ).outcome
    }

    @discardableResult func unlink(_ album: String, _ file: String) async throws -> SyncMutationResult.Outcome {
        try await delete("AlbumFileV1", "\(album)-\(file)")
    }

    /// The row of a partner is called as both: `ann-bob`.
    @discardableResult func letRead(_ other: Person) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "PartnerV1", "\(name)-\(other.name)", ["sharedByID": .text(id), "sharedWithID": .text(other.id)]
        ).outcome
    }

    @discardableResult func stopLetting(_ other: Person) async throws -> SyncMutationResult.Outcome {
        try await delete("PartnerV1", "\(name)-\(other.name)")
    }

    @discardableResult func delete(_ type: String, _ key: String) async throws -> SyncMutationResult.Outcome {
        try await device.push(.delete, type, key).outcome
    }

    @discardableResult func rename(_ file: String, _ name: String) async throws -> SyncMutationResult.Outcome {
        try await device.push(.patch, "FileV1", file, ["name": .text(name)]).outcome
    }
}

extension SyncLine {
    /// Of a row or a deletion.
    fileprivate var rowToken: SyncToken? {
        switch self {
        case .row(_, let token), .deletion(_, let token): token
        default: nil
        }
    }
}

extension SyncMutationResult.Outcome {
    /// Of a refusal; nil for all else.
    var code: String? {
        if case .rejected(let failure, _) = self { return failure.code.rawValue }
        return nil
    }
}
