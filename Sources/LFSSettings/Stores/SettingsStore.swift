/// A place that keeps values by the names of their keys.
///
/// Rules of an implementation:
/// - a change is whole or did not happen, whenever the process ends;
/// - what cannot be read is an error of that name alone, stays as it is, and can be written over or removed;
/// - names are not case-folded: two names are two values;
/// - a place that is not there, locked or emptied is an error, and not the absence of a value.
protocol SettingsStore: Sendable {
    /// Where a removal of everything has to end before a value is read or written here; nil where it ends with its
    /// commit.
    var resetPlace: ResetPlace? { get }

    /// Nil when nothing is stored.
    func read(_ name: String) async throws -> StoredValue?

    /// Changes a value while nobody else changes it, in no process.
    ///
    /// - Parameters:
    ///   - keys: asked for the data keys once nobody else changes the value.
    ///   - body: decides from what is stored, which it reads if it wants to. It may run twice.
    func update(
        _ name: String, keys: KeyAccess, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws

    /// What is stored, with the sizes of the bytes.
    func summaries() async throws -> [StoredSummary]

    /// Something that is another after another process has changed the value.
    func stamp(of name: String) async throws -> String?

    /// Removes every value of this database that is there.
    func removeAll() async throws
}

extension SettingsStore {
    var resetPlace: ResetPlace? { nil }
}

/// Reads what is stored, within a change.
typealias ValueReader = () throws -> StoredValue?

/// What the audit says of a stored value.
struct StoredSummary: Sendable {
    let name: String
    let byteCount: Int
    let serializerVersion: Int?
    let updatedAt: Int64?
}

/// Whether a change needs the data keys, and where they are.
enum KeyAccess: Sendable {
    case none
    case ring(KeyRing)

    /// The data keys for a value beside the database: the current one is on the device.
    func keys() async throws -> KeySet {
        switch self {
        case .none: .none
        case .ring(let ring): try await ring.durableKeys()
        }
    }

    /// As `KeyRing.retrying`, for a transaction that may need a data key.
    func retrying<Result>(_ body: () async throws -> Result) async throws -> Result {
        switch self {
        case .none: try await body()
        case .ring(let ring): try await ring.retrying(body)
        }
    }
}
