import Foundation

/// The database's note of the key chain in use: its kind and its place, also relative to the database's folder.
///
/// Stored as a JSON array of both, or as plain text without the second. Earlier versions stored the first one only.
struct KeychainNote: Equatable {
    let kind: String
    let movingKind: String?

    init(of secrets: any SecretStore) {
        kind = secrets.kind
        movingKind = secrets.movingKind
    }

    /// Reads a stored note. Text in another form was written by an earlier version.
    init(_ text: String) {
        let texts = (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? [text]
        kind = texts.first ?? text
        movingKind = texts.dropFirst().first
    }

    var encoded: String {
        get throws {
            guard let movingKind else { return kind }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            return String(decoding: try encoder.encode([kind, movingKind]), as: UTF8.self)
        }
    }

    /// Returns true if both have the same place, or places that have moved together with the database.
    func shares(_ other: KeychainNote) -> Bool {
        kind == other.kind || movingKind != nil && movingKind == other.movingKind
    }

    /// Returns true if both are of the same kind, in any place.
    func isOfSameService(as other: KeychainNote) -> Bool {
        kind.prefix { $0 != ":" } == other.kind.prefix { $0 != ":" }
    }
}
