import LFSDatabase

extension StorageRouter {
    /// Returns the values of a key over time. The first element is the current value or the default. Each change of
    /// this process follows, and changes of others while the router runs.
    public nonisolated func values<Value>(of key: StorageKey<Value>) -> SettingValues<Value> {
        readings(of: key, absent: key.serializedDefault) { try key.orDefault($0) }
    }

    /// Returns the same as ``values(of:)``, with nil while no value is stored.
    public nonisolated func valuesIfPresent<Value>(of key: StorageKey<Value>) -> SettingValues<Value?> {
        readings(of: key, absent: nil) { $0 }
    }

    /// - Parameter absent: the content that represents a missing value. If a value with the same content is stored
    ///   next, it is not delivered.
    private nonisolated func readings<Value, Element>(
        of key: StorageKey<Value>, absent: SerializedValue?, _ element: @escaping @Sendable (Value?) throws -> Element
    ) -> SettingValues<Element> {
        let (access, changes) = (access, changes)
        return SettingValues(
            subscribe: { access.hub.subscribe(key.name, isInDatabase: key.domain.isDatabase) },
            read: {
                // The database holds its observer weakly. This keeps it alive while a subscriber waits, even without
                // the router.
                defer { withExtendedLifetime(changes) {} }
                let info = try access.registry.usable(key)
                return try await info.catching(name: key.name) {
                    guard let content = try await access.content(key.name, info: info) else {
                        try await access.checkPending(key.name)
                        return SettingValues.Reading(content: absent, value: try element(nil))
                    }
                    return SettingValues.Reading(content: content, value: try element(try key.value(of: content)))
                }
            })
    }

    /// Returns all current values except secrets, to be read without waiting.
    ///
    /// - Throws: the database's error. An error of a single value is thrown when that value is read.
    public nonisolated func snapshot() async throws -> SettingsSnapshot {
        try await SettingsError.catching(nil) {
            var values = try await access.runner.read(SettingTable.values).mapValues { $0.map(\.content) }
            for entry in access.registry.all where !entry.info.domain.isDatabase && !entry.info.isSecret {
                let info = entry.info
                guard info.availability.contains(.here), !info.isFamily else { continue }
                do {
                    values[info.name] = try await access.content(info.name, info: info).map { .success($0) }
                } catch {
                    guard let error = SettingsError.wrapping(error, key: info.publicName) as? SettingsError else {
                        throw error
                    }
                    values[info.name] = .failure(error)
                }
            }
            return SettingsSnapshot(
                registry: access.registry, problems: try await access.pendingProblems(), values: values)
        }
    }

    /// The number of active observations.
    package nonisolated var observerCount: Int { access.hub.observerCount }
}
