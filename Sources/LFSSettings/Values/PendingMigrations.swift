import Synchronization

/// Keys whose earlier value could not be taken over yet, and why.
///
/// Owner of the list: one mutex.
final class PendingMigrations: Sendable {
    private let problems = Mutex<[String: SettingsError]>([:])

    var names: [String] { problems.withLock { $0.keys.sorted() } }

    func add(_ name: String, _ problem: SettingsError) { problems.withLock { $0[name] = problem } }

    func clear() { problems.withLock { $0 = [:] } }

    /// - Throws: ``SettingsError/Code/migrationPending`` when nothing stands at the key's place, and something might.
    func check(_ name: String) throws(SettingsError) {
        guard let problem = problems.withLock({ $0[name] }) else { return }
        throw SettingsError(
            .migrationPending,
            """
            The earlier value of \(name) could not be taken over yet, and is kept: \(problem.message) It is tried \
            again when a router opens; a value that is set counts instead of it.
            """,
            key: name, cause: problem)
    }
}
