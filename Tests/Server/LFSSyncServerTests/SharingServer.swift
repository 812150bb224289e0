import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// Accounts with albums and partners.
enum SharingServer {
    static let schema = SyncSchema(
        tables: [
            .init("album", columns: [.init("title", kind: .text)]),
            .init(
                "album_user",
                columns: [
                    .init("albumID", kind: .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("accountID", kind: .text, isRequired: true), .init("role", kind: .text),
                ]),
            .init(
                "album_file",
                columns: [
                    .init("albumID", kind: .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("fileID", kind: .text, isRequired: true, parent: .init("lfs_file", onDelete: .cascade)),
                ]),
            .init(
                "partner",
                columns: [
                    .init("sharedByID", kind: .text, isRequired: true),
                    .init("sharedWithID", kind: .text, isRequired: true),
                ]),
            .init(
                "note", columns: [.init("fileID", kind: .text, parent: .init("lfs_file")), .init("text", kind: .text)]),
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

    /// Returns the id of an account.
    func id(_ name: String) async throws -> String { try #require(try await service.account(named: name)) }

    func count(_ table: String, where condition: String = "1 = 1") async throws -> Int {
        Int(try await text("SELECT count(*) || '' FROM \(table) WHERE \(condition)") ?? "") ?? -1
    }
}

/// A device of an account that stores the rows of each scope, as an app does.
final class Person {
    let name: String
    let id: String
    let server: TestServer
    let device: TestDevice
    /// The types that the device asks for.
    var types = SharingServer.types
    /// The rows by scope and name, such as `File f1`. The key of the own scope is empty.
    var rows: [String: [String: SyncRow]] = [:]
    /// The rows that the current full resync has brought, by place. The resync ends with the deletion of the others.
    private var marks: [SyncToken.Place: Set<String>] = [:]

    init(_ name: String, on server: TestServer) async throws {
        self.name = name
        self.server = server
        device = try await server.device(of: name)
        id = try await server.id(name)
    }

    /// Streams, applies and acknowledges.
    ///
    /// - Parameter limit: the number of lines after which the connection is cut. Earlier lines are acknowledged.
    /// - Returns: the received lines except ends of types, for example `album/x: File f1`, with `!` for a deleted
    ///   scope.
    @discardableResult func sync(
        cutAfter limit: Int? = nil, acknowledging: Bool = true, meanwhile: (() async throws -> Void)? = nil
    ) async throws -> [String] {
        var lines = try await device.lines(types: types)
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
            if let token = try apply(parsed, story: &story) { tokens.append(token) }
        }
        if acknowledging { try await device.acknowledge(tokens) }
        return story
    }

    private func apply(_ line: SyncLine, story: inout [String]) throws -> SyncToken? {
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
                for scope in reset.scopes ?? [] { marks[.init(type, scope: scope)] = [] }
            }
            return token
        case .complete(let token, _):
            // These places received and acknowledged their last row earlier.
            for place in marks.keys { sweep(place) }
            return token
        case .failure, .heartbeat, .unknown: return nil
        }
    }

    /// Deletes the rows that the full resync of a place did not bring.
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

    /// Returns the rows of a scope in order, for example `File f1`.
    func has(_ scope: String = "") -> [String] { rows[scope].map { $0.keys.sorted() } ?? [] }

    // MARK: Writing

    @discardableResult func file(_ key: String) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "FileV1", key: key,
            values: [
                "name": .text(key), "byteCount": .integer(1), "sha256": .text(String(repeating: "a", count: 64)),
                "key": .text("\(name)/\(key)"), "createdAt": .text("2026"), "status": .text("local"),
            ]
        ).outcome
    }

    @discardableResult func album(_ key: String) async throws -> SyncMutationResult.Outcome {
        try await device.put("AlbumV1", key: key, values: ["title": .text(key)]).outcome
    }

    /// The row of a member is named after the album and the account: `x-bob`.
    @discardableResult func share(
        _ album: String, other: Person, role: String = "viewer"
    ) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "AlbumUserV1", key: "\(album)-\(other.name)",
            values: ["albumID": .text(album), "accountID": .text(other.id), "role": .text(role)]
        ).outcome
    }

    @discardableResult func unshare(_ album: String, other: Person) async throws -> SyncMutationResult.Outcome {
        try await device.push(.delete, type: "AlbumUserV1", key: "\(album)-\(other.name)").outcome
    }

    /// The row of a link is named after the album and the file: `x-f1`.
    @discardableResult func link(_ album: String, file: String) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "AlbumFileV1", key: "\(album)-\(file)", values: ["albumID": .text(album), "fileID": .text(file)]
        ).outcome
    }

    @discardableResult func unlink(_ album: String, file: String) async throws -> SyncMutationResult.Outcome {
        try await delete("AlbumFileV1", key: "\(album)-\(file)")
    }

    /// The row of a partner is named after both accounts: `ann-bob`.
    @discardableResult func letRead(_ other: Person) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "PartnerV1", key: "\(name)-\(other.name)",
            values: ["sharedByID": .text(id), "sharedWithID": .text(other.id)]
        ).outcome
    }

    @discardableResult func stopLetting(_ other: Person) async throws -> SyncMutationResult.Outcome {
        try await delete("PartnerV1", key: "\(name)-\(other.name)")
    }

    @discardableResult func delete(_ type: String, key: String) async throws -> SyncMutationResult.Outcome {
        try await device.push(.delete, type: type, key: key).outcome
    }

    @discardableResult func rename(_ file: String, name: String) async throws -> SyncMutationResult.Outcome {
        try await device.push(.patch, type: "FileV1", key: file, values: ["name": .text(name)]).outcome
    }
}

extension SyncLine {
    /// The token of a row or a deletion.
    fileprivate var rowToken: SyncToken? {
        switch self {
        case .row(_, let token), .deletion(_, let token): token
        default: nil
        }
    }
}

extension SyncMutationResult.Outcome {
    /// The code of a refusal. Nil for any other outcome.
    var code: String? {
        if case .rejected(let failure, _) = self { return failure.code.rawValue }
        return nil
    }
}
