/// A place that stores values by the names of their keys.
///
/// Rules of an implementation:
/// - A change is complete or did not happen, whenever the process ends.
/// - A value that cannot be read is an error of its name only. It is kept, and can be overwritten or removed.
/// - Names are case-sensitive: two names that differ in case are two values.
/// - A place that is missing, locked or emptied is an error, and not the absence of a value.
protocol SettingsStore: Sendable {
    /// The place where a removal of all values has to finish before a value is read or written. Nil if the commit of
    /// the removal is sufficient.
    var resetPlace: ResetPlace? { get }

    /// Reads a value, or returns nil if none is stored.
    func read(_ name: String) async throws -> StoredValue?

    /// Changes a value in one step that no other task or process can interrupt.
    ///
    /// - Parameters:
    ///   - ring: provides the data keys once no other change is possible. Nil if the change needs none.
    ///   - body: decides the change. It can read the stored value, and may run twice.
    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws

    /// Returns the names of the stored values. Empty for values that belong to the system or to other programs.
    func names() async throws -> [String]

    /// Returns a stamp that differs after another process has changed the value. Nil if no changes are detected.
    func stamp(of name: String) async throws -> String?
}

extension SettingsStore {
    var resetPlace: ResetPlace? { nil }
    func names() async throws -> [String] { [] }
    func stamp(of name: String) async throws -> String? { nil }
}

typealias ValueReader = () throws -> StoredValue?
