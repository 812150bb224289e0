import Synchronization

/// Keys whose earlier value could not be taken over yet, and catalogs whose data could not be brought to their
/// versions, and why.
///
/// Owner of the lists: one mutex.
final class PendingMigrations: Sendable {
    private struct Problems {
        var keys: [String: SettingsError] = [:]
        var catalogs: [String: SettingsError] = [:]
    }

    private let problems = Mutex(Problems())

    /// The names of the keys.
    var names: [String] { problems.withLock { $0.keys.keys.sorted() } }
    /// The names of the catalogs.
    var catalogs: [String] { problems.withLock { $0.catalogs.keys.sorted() } }

    func add(_ name: String, _ problem: SettingsError) { problems.withLock { $0.keys[name] = problem } }

    func add(catalog: String, _ problem: SettingsError) { problems.withLock { $0.catalogs[catalog] = problem } }

    func clear() { problems.withLock { $0 = Problems() } }

    /// What to say of a key while nothing stands at its place, and something might; nil for other keys. A note in the
    /// database that the key was migrated, or removed, counts more.
    func problem(_ name: String) -> SettingsError? {
        guard let problem = problems.withLock({ $0.keys[name] }) else { return nil }
        return SettingsError(
            .migrationPending,
            """
            The earlier value of \(name) could not be taken over yet, and is kept: \(problem.message) It is tried \
            again when a router opens; a value that is set counts instead of it.
            """,
            key: name, cause: problem)
    }

    /// - Throws: ``SettingsError/Code/migrationFailed`` for a catalog whose data have an earlier version: what its keys
    ///   have now may be of either.
    func checkCatalog(_ catalog: String, _ key: String) throws(SettingsError) {
        guard let problem = problems.withLock({ $0.catalogs[catalog] }) else { return }
        throw SettingsError(
            .migrationFailed,
            """
            The data of the catalog “\(catalog)” could not be brought to its version when the router opened: \
            \(problem.message) Its keys can be removed until then. It is tried again when a router opens.
            """,
            key: key, cause: problem)
    }
}
